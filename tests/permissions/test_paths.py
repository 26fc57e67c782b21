"""Paths: where they lead, and which rules are about them."""

import os

import pytest

from agentlab.permissions.paths import Place, inside, locate, names, protected
from agentlab.permissions.patterns import exactly, fits, holds, wrong_pattern


@pytest.fixture
def place(tmp_path):
    for folder in ("ws/src/deep", "ws/secrets", "home"):
        (tmp_path / folder).mkdir(parents=True)
    for file in (
        "ws/a.txt",
        "ws/.env",
        "ws/src/b.py",
        "ws/src/deep/key.pem",
        "ws/-rf",
        "ws/src/.env",
    ):
        (tmp_path / file).write_text("x")
    return Place.of(tmp_path / "ws", home=tmp_path / "home", platform="linux")


def about(pattern, path, place, generous):
    return fits(pattern, locate(path, place), place, generous=generous)


@pytest.mark.parametrize("generous", [True, False])
@pytest.mark.parametrize(
    ("pattern", "path", "answer"),
    [
        ("src/**", "src/b.py", True),
        ("src/**", "src/deep/key.pem", True),
        ("src/**", "src2/b.py", False),
        ("src/**", "a/src/b.py", False),
        ("./src/**", "src/b.py", True),
        ("/src/**", "src/b.py", True),
        ("src", "src/b.py", True),
        ("src/", "src/b.py", True),
        ("src/*.py", "src/b.py", True),
        ("src/*.py", "src/deep/b.py", False),
        ("src/**/*.py", "src/deep/b.py", True),
        ("src/**/*.py", "src/b.py", True),
        ("src/**/deep/**", "src/x/deep/y", True),
        (".env", ".env", True),
        (".env", "a/b/.env", True),
        (".env", ".env.local", False),
        (".env", "x.env", False),
        (".env*", ".env.local", True),
        ("*.pem", "a/b/key.pem", True),
        ("*.pem", "pem", False),
        ("**/*.pem", "a/b/key.pem", True),
        ("**/secrets/**", "a/secrets/x", True),
        ("secrets", "a/secrets/x", True),
        ("./secrets", "a/secrets/x", False),
        ("./notes.txt", "notes.txt", True),
        ("./notes.txt", "a/notes.txt", False),
        ("**", "a/b", True),
        ("**", ".", True),
        ("**", "../x", False),
        ("**", "/etc/passwd", False),
        ("*", "a", True),
        ("//etc/**", "/etc/passwd", True),
        ("//etc/**", "etc/passwd", False),
        ("//**", "/etc/passwd", True),
        ("/etc/**", "/etc/passwd", False),
        ("/etc/**", "etc/passwd", True),
        ("~/x/**", "~/x/y", True),
        ("~", "~/x/y", True),
        ("../other/**", "../other/x", True),
        ("?.txt", "a.txt", True),
        ("?.txt", "ab.txt", False),
        ("[ab].txt", "a.txt", True),
        ("[!ab].txt", "a.txt", False),
        ("[!ab].txt", "c.txt", True),
        ("[a-c]/x", "b/x", True),
        ("a[/]b", "a/b", False),
        ("*.{ts,tsx}", "a/x.tsx", True),
        ("src/{a,b}/**", "src/b/c", True),
        ("\\[id\\].py", "[id].py", True),
        ("a+b.(c)", "a+b.(c)", True),
        ("A.txt", "a.txt", False),
        ("", "/anything", True),
    ],
)
def test_what_a_pattern_means(place, pattern, path, answer, generous):
    assert about(pattern, path, place, generous) is answer


@pytest.mark.parametrize("pattern", ["!x", "[a", "a/[b/c"])
def test_a_pattern_may_make_no_sense(pattern):
    assert wrong_pattern(pattern)


def test_a_bare_name_is_denied_outside_the_workspace_too(place):
    assert about(".env", "../other/.env", place, True)
    assert about("*.pem", "/etc/ssl/x.pem", place, True)
    assert not about(".env", "../other/.env", place, False)


def test_a_wildcard_is_generous_about_what_is_below_a_folder(place):
    assert about("src/*", "src/deep/x", place, True)
    assert not about("src/*", "src/deep/x", place, False)


def test_an_allow_rule_takes_both_the_path_and_where_it_leads(place, tmp_path):
    workspace = tmp_path / "ws"
    (workspace / "out").symlink_to(tmp_path / "home")
    (workspace / "within").symlink_to("src")
    assert not about("**", "out/x", place, False)
    assert not about("out/**", "out/x", place, False)
    assert about("within/**", "within/b.py", place, False)
    assert about("**", "within/b.py", place, False)
    assert about("src/**", "within/b.py", place, True)
    assert about("~/**", "out/x", place, True)


def test_a_rule_about_a_folder_that_is_a_link_is_about_what_it_leads_to(place, tmp_path):
    (tmp_path / "ws" / "conf").symlink_to("src")
    assert about("conf/**", "src/b.py", place, True)
    assert about("conf/**", "conf/b.py", place, False)


@pytest.mark.parametrize(
    ("link", "path"),
    [("nothing", "link"), ("nothing", "link/x/y"), ("link", "link"), ("link", "link/x")],
)
def test_what_leads_nowhere_is_denied_by_any_rule_and_allowed_by_none(place, tmp_path, link, path):
    (tmp_path / "ws" / "link").symlink_to(link)
    assert locate(path, place).real is None
    assert about("src/**", path, place, True)
    assert not about("**", path, place, False)
    assert not inside(locate(path, place), place)


@pytest.mark.parametrize("path", ["~daemon/x", "/proc/self/cwd/x", "/proc/1/cwd/etc", "/dev/fd/3"])
def test_some_paths_lead_somewhere_that_is_not_known_here(place, path):
    assert locate(path, place).real is None


def test_a_file_that_is_not_there_yet_is_no_riddle(place):
    assert inside(locate("new/folder/file", place), place)
    assert inside(locate("a.txt/x", place), place)


def test_inside_is_inside_the_workspace(place, tmp_path):
    (tmp_path / "ws2").mkdir()
    for path in ("..", "../ws2/x", "/", "~", "src/../../x", "//etc"):
        assert not inside(locate(path, place), place), path
    for path in (".", "src/..", "src/../a.txt", f"{tmp_path}/ws/a.txt", "../ws/a.txt"):
        assert inside(locate(path, place), place), path


def test_a_workspace_that_is_reached_through_a_link_is_the_same_one(place, tmp_path):
    (tmp_path / "again").symlink_to("ws")
    other = Place.of(tmp_path / "again", home=tmp_path / "home", platform="linux")
    path = f"{tmp_path}/again/src/b.py"
    assert inside(locate(path, other), other)
    assert fits("src/**", locate(path, other), other, generous=False)


def test_a_path_is_relative_to_where_the_shell_stands(place):
    assert locate("b.py", place, f"{place.workspace}/src").typed == f"{place.workspace}/src/b.py"


# ---------------------------------------------------------------------------------------- protected


@pytest.mark.parametrize(
    "path",
    [".git/hooks/pre-commit", ".git", "sub/.git/config", ".GIT/config", ".agentlab/settings.json",
     ".claude/settings.local.json", "~/.bashrc", "~/.ssh/authorized_keys", "~/.config/fish/x",
     "~/.profile", "~/.gitconfig", "~/.claude/settings.json", "src/../.git/config"],
)  # fmt: skip
def test_some_files_are_protected(place, path):
    assert protected(locate(path, place), place)


@pytest.mark.parametrize(
    "path", [".gitignore", "a.git", ".bashrc", "~/notes", "~/x/.bashrc", "git/x"]
)
def test_others_are_not(place, path):
    assert not protected(locate(path, place), place)


def test_a_link_does_not_unprotect(place, tmp_path):
    (tmp_path / "ws/.git").mkdir()
    (tmp_path / "ws/g").symlink_to(".git")
    assert protected(locate("g/config", place), place)


def test_only_its_own_name_allows_a_protected_file(place):
    where = locate(".git/config", place)
    assert exactly(".git/config", where, place)
    assert exactly("./.git/config", where, place)
    for pattern in ("**", ".git/**", ".git", "config", "*", "", ".git/conf[i]g"):
        assert not exactly(pattern, where, place), pattern


# ------------------------------------------------------------------------------------------ folders


def test_a_folder_may_hold_what_a_rule_is_about(place):
    def held(pattern, folder):
        return holds(pattern, locate(folder, place), place)

    assert (
        held(".env", ".") and held(".env", "src") and held("*.pem", ".") and held("secrets/**", ".")
    )
    assert held("src/deep/*.pem", "src")
    assert not held(".env", "secrets") and not held("secrets/**", "src") and not held("*.crt", ".")
    assert not holds(".env", locate(".", place), place, hidden=False)
    assert holds("*.pem", locate(".", place), place, hidden=False)
    assert not held("//etc/**", ".") and not held("other/**", ".") and not held(".env", "a.txt")


def test_names_are_found_as_bash_finds_them(place):
    here = place.workspace
    assert sorted(names("*", here, place)) == ["-rf", "a.txt", "secrets", "src"]
    assert names(".e*", here, place) == [".env"]
    assert names("src/*.py", here, place) == ["src/b.py"]
    assert names("[^a]*", here, place) is not None
    assert names("x*", here, place) == []
    assert names("*/*/*", here, place) is None
    assert names("[[:alpha:]]*", here, place) is None


def test_too_many_names_are_not_looked_at(place):
    for number in range(1001):
        open(f"{place.workspace}/n{number}", "w").close()
    assert names("n*", place.workspace, place) is None


# ------------------------------------------------------------------------------------ other systems


@pytest.fixture
def windows():
    return Place.of("C:\\ws", home="C:\\Users\\u", platform="win32")


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("src\\a.py", "c:/ws/src/a.py"),
        ("SRC/A.PY", "c:/ws/src/a.py"),
        ("..\\x", "c:/x"),
        ("D:\\x", "d:/x"),
        ("/x", "c:/x"),
        ("~\\x", "c:/users/u/x"),
        ("a.txt. .", "c:/ws/a.txt"),
        ("a.txt::$DATA", "c:/ws/a.txt"),
        ("\\\\?\\C:\\x", "c:/x"),
        ("a/../../ws/b", "c:/ws/b"),
    ],
)
def test_a_path_of_windows_is_read_as_windows_does(windows, path, typed):
    assert locate(path, windows).typed == typed


@pytest.mark.parametrize("path", ["C:x", "\\\\host\\share\\x", "PROGRA~1/x", "\\\\.\\pipe\\x"])
def test_some_paths_of_windows_cannot_be_compared(windows, path):
    assert locate(path, windows).real is None


@pytest.mark.parametrize(
    "pattern", ["C:\\Users\\**", "c:/users/**", "//c/Users/**", "//C:/Users/**", "~/**"]
)
def test_a_pattern_may_be_written_in_the_way_of_windows(windows, pattern):
    assert about(pattern, "C:\\USERS\\u\\x", windows, True)
    assert about(pattern, "C:\\USERS\\u\\x", windows, False)
    assert not about(pattern, "D:\\Users\\u\\x", windows, True)


def test_a_mac_ignores_case_and_the_form_of_accents():
    mac = Place.of("/ws", home="/Users/u", platform="darwin")
    assert about("Secrets/**", "sEcrets/x", mac, True)
    assert about("caf\u00e9/**", "cafe\u0301/x", mac, True)


@pytest.mark.skipif(os.name == "nt", reason="made of links")
def test_on_another_system_no_file_is_looked_at(tmp_path):
    (tmp_path / "link").symlink_to("/etc")
    place = Place.of(str(tmp_path), home="C:\\u", platform="win32")
    assert locate("link/x", place).real == locate("link/x", place).typed
