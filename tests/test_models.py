"""The table of models against the SDK's own list of deprecated ones."""

from anthropic.resources.messages.messages import DEPRECATED_MODELS

from agentlab.models import all_models, default_model, find_model, small_model


def test_every_model_that_the_sdk_deprecates_is_marked_so() -> None:
    ours = {name: find_model(name) for name in DEPRECATED_MODELS}
    unmarked = [name for name, model in ours.items() if model and model.status != "deprecated"]
    assert unmarked == []


def test_no_model_is_marked_deprecated_that_the_sdk_still_welcomes() -> None:
    marked = {name for name, model in all_models().items() if model.status == "deprecated"}
    assert marked <= set(DEPRECATED_MODELS)


def test_the_models_we_ask_for_unasked_are_not_deprecated() -> None:
    for name in (default_model(), small_model()):
        model = find_model(name)
        assert model is not None and model.status == "active"
        assert name not in DEPRECATED_MODELS


def test_a_date_after_the_name_is_ignored_and_other_endings_are_not() -> None:
    assert find_model(f"{default_model()}-20261001") is all_models()[default_model()]
    assert find_model(f"{default_model()}-latest") is None
