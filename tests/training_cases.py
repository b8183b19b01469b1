"""What tests of whole trainings share: a made KB and corpus over the words of the tiny BERT, its command line."""

from pathlib import Path

NAMES = {
    "T:1": ("heart attack", "attack of the heart", "heart of attack"),
    "T:2": ("short stature", "stature short", "short of stature"),
    "T:3": ("seizure", "the seizure", "attack seizure"),
    "T:4": ("breast cancer", "cancer of the breast", "cancer of breast", "cancer breast"),
    "T:5": ("5 fu", "fu 5", "fu"),
    "T:6": "the breast",
}

CORPUS = """\
1|t|breast cancer and seizure
1|a|a heart attack, short stature
1\t0\t13\tbreast cancer\tDisease\tT:4
1\t18\t25\tseizure\tDisease\tT:3
1\t28\t40\theart attack\tDisease\tT:1
1\t42\t55\tshort stature\tDisease\tT:2

"""
"""PubTator."""


def corpus(folder: Path) -> Path:
    path = folder / "train.pubtator"
    path.write_text(CORPUS, encoding="utf-8")
    return path


def arguments(recipe: str, kb: Path, base: Path, output: Path, *more: object) -> list[str]:
    """Of a short `nomina train`, after the name of the program."""
    settings = {"batch_size": 6, "steps": 8, "report_every": 4, "evaluate_every": 4, "save_every": 2, "lr": 0.01}
    texts = [text for key, value in settings.items() for text in ("--set", f"fit.{key}={value}")]
    paths = ["--kb", kb, "--base", base, "-o", output, "--device", "cpu"]
    return [str(part) for part in ("train", recipe, *paths, *texts, *more)]
