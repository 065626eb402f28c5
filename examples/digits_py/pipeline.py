"""Handwritten digits through all six stages, in Python: each step is a function of training.py."""

import training as t

import trainwright as tw

prep = tw.step(t.prep, stage="data_preparation", out={"table": "dataset"}, check=["rows >= 1000", "null_rate <= 0.01"])
features = tw.step(t.features, stage="feature_load", out={"arrays": "dataset"})
init = tw.step(t.init, stage="model_init", out={"model": "model"})
train = tw.step(t.train, stage="training", out={"model": "model"}, cpu=1, memory="1Gi", retry=1)
evaluate = tw.step(t.evaluate, stage="evaluation", out={"confusion": "value"}, check=["auc >= 0.95"])


@tw.pipeline(standard=True, data={"raw": "pkg://sklearn/datasets/data/digits.csv.gz"})
def digits_py(raw, C: float = tw.param(1.0, range=(1e-3, 100), scale="log"), epochs=30, lr=0.1, seed=7):
    table = prep(raw)
    arrays = features(table, test_share=0.25, seed=seed)
    initial = init(arrays, seed)
    model = train(arrays, initial, C, epochs, lr, seed)
    evaluate(model, arrays)
    tw.register(model, name="digits_py", alias="candidate")


if __name__ == "__main__":
    digits_py.run()
