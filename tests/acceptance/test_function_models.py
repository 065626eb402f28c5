"""A function that returns an estimator: its signature is read off it, and it is loaded without pickle."""

from pathlib import Path

import pytest
from shell import Shell

pytestmark = pytest.mark.heavy

FACE = """
    import trainwright as tw


    @tw.step(out={"model": "model", "card": "file"})
    def train(C: float):
        import pathlib
        import pandas as pd
        from sklearn.linear_model import LogisticRegression

        table = pd.DataFrame({"age": [0.0, 1.0, 2.0, 3.0], "height": [1.0, 0.0, 1.0, 0.0]})
        pathlib.Path("card.md").write_text("Only for **tests**.")
        return {"model": LogisticRegression(C=C).fit(table, [0, 0, 1, 1]), "card": pathlib.Path("card.md")}


    @tw.step(check=["auc > 0.5"])
    def evaluate(model):
        tw.log(auc=model.score([[0.0, 1.0], [3.0, 0.0]], [0, 1]))


    @tw.pipeline
    def ages(C: float = 1.0):
        made = train(C)
        evaluate(made.model)
        tw.register(made.model, name="ages", card=made.card)
    """


def test_a_fitted_estimator_says_what_it_takes_and_is_loaded_as_data(tmp_path: Path) -> None:
    with Shell(tmp_path / "p") as shell:
        shell.write("ages.py", FACE)
        shell.run("run", "ages.py", code=0)
        told = shell.run("model", "show", "ages", "--json", code=0).json
        assert told["version"]["signature"] == {
            "inputs": {"age": "", "height": ""},
            "outputs": {"prediction": "one of 2 classes"},
            "source": "model",
        }
        assert told["format"] == {"name": "skops", "framework": "scikit-learn", "runs_code": False}
        assert told["words"] == "Only for **tests**."
        code = "import trainwright as tw; print(tw.load_model('ages').predict([[3.0, 0.0]]))"
        done = shell.shell(f'python -W ignore -c "{code}"')
        assert done.stdout == "[1]\n", done
