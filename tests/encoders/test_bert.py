"""Where a BERT-type encoder comes from: a folder, the cache of Hugging Face, or its hub, which may be out of reach."""

import shutil
import time

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
hub = pytest.importorskip("huggingface_hub")

from encoder_cases import save_bert  # noqa: E402

from nomina.encoders import bert  # noqa: E402
from nomina.encoders.bert import BertEncoder  # noqa: E402
from nomina.errors import ArtifactError  # noqa: E402


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"), 16, 32)


@pytest.mark.parametrize("name", ["no/where/here", "./model", "../model", "~/model", "nosuch/", "/no/where", "a\\b"])
def test_a_path_that_is_not_there_is_not_asked_for_at_hugging_face(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bert, "_opened", None)
    monkeypatch.setattr(bert, "_reach", None)
    with pytest.raises(ArtifactError) as caught:
        BertEncoder(name)
    assert str(caught.value) == f"no such folder: {name}; name the folder of an encoder"


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """Hugging Face behind a port where nobody listens, an empty cache; its client may not wait to try again."""
    monkeypatch.setattr(hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("waits to try again"))
    return tmp_path / "hub"


@pytest.mark.parametrize("name", ["nosuch", "some-org/no.such_model"])
@pytest.mark.parametrize("forbidden", [False, True])
def test_a_name_that_cannot_be_asked_for_is_told_at_once(name, forbidden, offline, monkeypatch):
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", forbidden)
    with pytest.raises(ArtifactError) as caught:
        BertEncoder(name)
    assert str(caught.value).startswith(f"{name} is no folder and not in the cache of Hugging Face, which cannot be ")
    assert "\n" not in str(caught.value)


def test_what_is_in_the_cache_opens_without_the_network(offline, bert_folder):
    model = offline / "models--some-org--tiny"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("0" * 40, encoding="utf-8")
    shutil.copytree(bert_folder, model / "snapshots" / ("0" * 40))
    found, expected = BertEncoder("some-org/tiny"), BertEncoder(bert_folder)
    assert (found.encode(["heart attack"]) == expected.encode(["heart attack"])).all()


def test_a_name_that_hugging_face_answers_for_is_left_to_it(offline, monkeypatch):
    asked = []
    monkeypatch.setattr(hub.HfApi, "model_info", lambda self, name, timeout: asked.append((name, timeout)))
    monkeypatch.setattr(bert, "_opened", opened := Opened())
    with pytest.raises(
        ArtifactError, match=r"^some-org/tiny is no encoder of Hugging Face \(not there\): name a folder"
    ):
        BertEncoder("some-org/tiny")
    assert (opened.asked, asked) == ([True, False], [("some-org/tiny", 5)])


class Opened:
    """Finds nothing, neither in the cache nor at the hub."""

    def __init__(self):
        self.asked = []

    def __call__(self, path, local):
        self.asked.append(local)
        raise OSError("not there")
