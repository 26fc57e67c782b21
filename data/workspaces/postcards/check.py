"""Says of each card whether the number is the new one, and everything else is as it was."""

import hashlib
from pathlib import Path

OLD, NEW = "555-0142", "555-0199"
AS_TYPED = {
    "deutsch.txt": "07f596445f36c554",
    "english.txt": "b6d1e1ffa9555d36",
    "francais.txt": "fa4b1beffb8ea0e0",
    "islenska.txt": "bce329644701b094",
    "polski.txt": "6807ea1e899ea3b5",
}


def judge(name, folder="cards"):
    """ "done", "old number" or "damaged"."""
    data = Path(folder, name).read_bytes()
    for old, new in ((OLD.encode(code), NEW.encode(code)) for code in ("utf-8", "utf-16-le")):
        before = data.replace(new, old)
        if hashlib.sha256(before).hexdigest()[:16] == AS_TYPED[name]:
            if data != before:
                return "done"
            if old in data:
                return "old number"
    return "damaged"


if __name__ == "__main__":
    for name in AS_TYPED:
        print(f"{name:14} {judge(name)}")
