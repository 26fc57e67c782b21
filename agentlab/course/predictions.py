"""`predict`: a question before the cell that answers it.

Guessing first, and then seeing, is how a result stays in memory. The guess is the learner's own:
it is not counted, not graded and not stored anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentlab.course.shown import MUTED, CourseError, Shown, escape, static_views


class Prediction:
    """A question with options. Choose with a button, then `reveal` the answer."""

    def __init__(self, question: str, options: Sequence[Any], answer: Any = None) -> None:
        self.question = question
        self.options = tuple(str(option) for option in options)
        self.answer = answer
        self.chosen: str | None = None
        if len(set(self.options)) < 2:
            raise CourseError("predict needs at least two different options")
        if answer is not None and str(answer) not in self.options:
            raise CourseError(f"predict: the answer {str(answer)!r} is not among the options")

    def choose(self, option: Any) -> None:
        """Record a guess; what the buttons do."""
        if str(option) not in self.options:
            raise CourseError(f"choose one of: {', '.join(self.options)}")
        self.chosen = str(option)

    def reveal(self, value: Any = None) -> Shown:
        """Show the answer: ``value``, which the cell has just computed, beside the guess."""
        answer = self.answer if value is None else value
        if answer is None:
            raise CourseError("reveal needs the value that the cell computed")
        if self.chosen is None:
            text = f"The answer: {answer}"
        elif self.chosen == str(answer):
            text = f"The answer: {answer}, as you predicted"
        else:
            text = f"The answer: {answer} (you chose {self.chosen})"
        return Shown(text, f"<p><strong>{escape(text)}</strong></p>")

    def __repr__(self) -> str:
        return "\n".join([f"Predict: {self.question}", *(f"  ( ) {o}" for o in self.options)])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(option)}</li>" for option in self.options)
        return f"<p><strong>Predict:</strong> {escape(self.question)}</p><ul>{items}</ul>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if not static_views():
            bundle |= self._widget()._repr_mimebundle_()
            bundle["text/plain"] = repr(self)
        return bundle

    def _widget(self) -> Any:
        import ipywidgets

        question = ipywidgets.HTML(f"<strong>Predict:</strong> {escape(self.question)}")
        said = ipywidgets.HTML()
        buttons = [
            ipywidgets.Button(
                description=option, layout=ipywidgets.Layout(width="auto", min_width="5em")
            )
            for option in self.options
        ]

        def clicked(button: Any) -> None:
            self.choose(button.description)
            for other in buttons:
                other.button_style = "primary" if other is button else ""
            what_next = (
                "Now run the next cell." if self.answer is None else f"The answer: {self.answer}."
            )
            said.value = (
                f'<span style="color:{MUTED}">You chose {escape(self.chosen)}. '
                f"{escape(what_next)}</span>"
            )

        for button in buttons:
            button.on_click(clicked)
        row = ipywidgets.Box(buttons, layout=ipywidgets.Layout(flex_flow="row wrap"))
        return ipywidgets.VBox([question, row, said])


def predict(question: str, options: Sequence[Any], answer: Any = None) -> Prediction:
    """Ask a question whose answer the next cell computes.

    ``guess = predict("How many calls?", [1, 2, 3])`` shows it as buttons (Tab and Enter work);
    the next cell ends in ``guess.reveal(result.turns)``. With ``answer`` the choice itself shows
    the answer, for questions that no cell computes.
    """
    return Prediction(question, options, answer)
