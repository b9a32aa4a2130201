"""Templates and tokenizers by what the user typed; what cannot be loaded ends in one clear line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keepwarm._errors import TemplateError, TokenizerError
from keepwarm.trace.encode import open_encoder
from keepwarm.trace.render import builtin_renderer, load_renderer
from keepwarm.trace.tokens import builtin_tokenizer, load_tokenizer
from tests.trace_tokens.contract import chat

HELLO = chat({"role": "user", "content": "Hi"})
WITH_TOOLS = chat({"role": "user", "content": "Hi"}, tools=[{"type": "function", "function": {"name": "f"}}])


def folder(path: Path, config: Any = None, **files: str) -> Path:
    if config is not None:
        (path / "tokenizer_config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    for name, text in files.items():
        (path / name.replace("_jinja", ".jinja").replace("_json", ".json")).write_text(text)
    return path


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text("{{ bos_token + messages[0].content + eos_token }}")
    renderer = load_renderer(file)
    assert renderer.name == "mine.jinja"
    assert renderer.text(HELLO) == "<|begin|>Hi<|im_end|>"
    assert load_renderer(str(file), special_tokens={"bos_token": "<s>"}).text(HELLO) == "<s>Hi"


def test_a_folder_with_one_template_and_its_special_tokens(tmp_path: Path) -> None:
    config = {
        "chat_template": "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}",
        "bos_token": {"content": "<s>", "lstrip": False},
        "eos_token": "</s>",
        "extra_special_tokens": {"boi_token": "<img>", "numbers": 7},
    }
    renderer = load_renderer(folder(tmp_path, config))
    assert renderer.text(HELLO) == "<s>Hi</s>"
    assert renderer.special_tokens == {"bos_token": "<s>", "eos_token": "</s>", "boi_token": "<img>"}


@pytest.mark.parametrize("as_list", [True, False])
def test_named_templates(tmp_path: Path, as_list: bool) -> None:
    named = {"default": "plain", "tool_use": "tools {{ tools | length }}"}
    listed = [{"name": name, "template": text} for name, text in named.items()]
    renderer = load_renderer(folder(tmp_path, {"chat_template": listed if as_list else named}))
    assert renderer.text(HELLO) == "plain"
    assert renderer.text(WITH_TOOLS) == "tools 1"


def test_templates_in_files_of_their_own_win(tmp_path: Path) -> None:
    folder(tmp_path, {"chat_template": "old"}, chat_template_jinja="new")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text("tools")
    renderer = load_renderer(tmp_path)
    assert (renderer.text(HELLO), renderer.text(WITH_TOOLS)) == ("new", "tools")


def test_a_processors_template(tmp_path: Path) -> None:
    folder(tmp_path, chat_template_json=json.dumps({"chat_template": "P{{ messages[0].content }}"}))
    assert load_renderer(tmp_path).text(HELLO) == "PHi"
    assert load_renderer(tmp_path / "chat_template.json").text(HELLO) == "PHi"


def test_a_template_as_text() -> None:
    assert load_renderer("{{ messages[0].content }}!").text(HELLO) == "Hi!"


def test_the_clock_shows_the_requests_time_in_utc() -> None:
    renderer = load_renderer("{{ strftime_now('%Y-%m-%d %H:%M') }}")
    request = chat({"role": "user", "content": ""}, time_s=1_700_000_000.5)
    assert renderer.text(request) == renderer.render(request).text == "2023-11-14 22:13"
    assert renderer.text(request, now_s=0) == "1970-01-01 00:00"
    assert renderer.text(HELLO) == "1970-01-01 00:00"
    with pytest.raises(TemplateError):
        renderer.text(request, now_s=1e300)


def test_template_arguments_of_the_body() -> None:
    renderer = load_renderer("{{ enable_thinking }}{{ documents | length }}{{ add_generation_prompt }}")
    params = {"chat_template_kwargs": {"enable_thinking": False}, "documents": [{"text": "d"}]}
    assert renderer.text(chat({"role": "user", "content": ""}, params=params)) == "False1True"
    off = chat({"role": "user", "content": ""}, params={**params, "add_generation_prompt": False})
    assert renderer.text(off) == "False1False"


BAD_TEMPLATES = {
    "syntax": ({"chat_template": "{% if %}"}, "does not compile: line 1"),
    "unknown filter": ({"chat_template": "{{ x | nothing_like_it }}"}, "does not compile"),
    "none": ({}, "no chat template in .*--chat-template"),
    "not text": ({"chat_template": 7}, "neither text nor a list"),
    "not named": ({"chat_template": [{"template": "x"}]}, "neither text nor a list"),
    "not JSON": ("{", "is not JSON"),
    "not an object": ([1], "not an object"),
}


@pytest.mark.parametrize("name", BAD_TEMPLATES)
def test_bad_templates(tmp_path: Path, name: str) -> None:
    config, message = BAD_TEMPLATES[name]
    with pytest.raises(TemplateError, match=message) as said:
        load_renderer(folder(tmp_path, config))
    assert "\n" not in str(said.value)


@pytest.mark.parametrize("name", ["gone.jinja", "gone/with/many/parts", "./gone"])
def test_templates_that_are_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(TemplateError, match="gone"):
        load_renderer(str(tmp_path / name) if name.endswith("jinja") else name)


def test_a_template_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "x.jinja").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TemplateError, match="not UTF-8"):
        load_renderer(tmp_path / "x.jinja")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"model": {}}'])
def test_bad_tokenizers(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(TokenizerError, match=r"cannot load .*tokenizer\.json") as said:
        load_tokenizer(str(tmp_path))
    assert "\n" not in str(said.value)


def test_tokenizers_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(TokenizerError, match=r"no tokenizer\.json"):
        load_tokenizer(str(tmp_path))
    with pytest.raises(TokenizerError, match="no tokenizer at"):
        load_tokenizer(str(tmp_path / "gone"))
    with pytest.raises(TokenizerError, match="'org/gone' is not in the local Hugging Face cache") as said:
        load_tokenizer("org/gone")
    assert "\n" not in str(said.value)


@pytest.mark.parametrize("name", ["tiny", "Tiny-3.1-8B", "tiny2.5"])
def test_a_name_in_the_local_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    model = tmp_path / f"models--org--{name}"
    snapshot = model / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("abc\n")
    (snapshot / "tokenizer.json").write_text(builtin_tokenizer().model.to_str())
    folder(snapshot, {"chat_template": "{{ messages[0].content }}{{ eos_token }}", "eos_token": "<|im_end|>"})
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    encoder = open_encoder(f"org/{name}")
    assert encoder.rendered(HELLO).text == "Hi<|im_end|>"
    assert encoder.info.tokenizer == encoder.info.chat_template == f"org/{name}"
    assert encoder.info.exact


def test_the_file_of_a_tokenizer_stands_for_its_folder(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(builtin_tokenizer().model.to_str())
    folder(tmp_path, {"chat_template": "F{{ messages[0].content }}"})
    assert open_encoder(str(tmp_path / "tokenizer.json")).rendered(HELLO).text == "FHi"


def test_a_json_file_without_a_template(tmp_path: Path) -> None:
    folder(tmp_path, {"eos_token": "<|im_end|>"})
    with pytest.raises(TemplateError, match="no chat_template in"):
        load_renderer(tmp_path / "tokenizer_config.json")


def test_the_built_in_tokenizer() -> None:
    tokenizer = builtin_tokenizer()
    assert tokenizer.model.get_vocab_size() == 16_384
    ids = tokenizer.encode("<|im_start|>user\nI would like to cancel my reservation.<|im_end|>\n").ids
    assert 12 <= len(ids) <= 17
    assert tokenizer.model.decode(ids.tolist(), skip_special_tokens=False).endswith(
        "reservation.<|im_end|>\n"
    )
    assert len(builtin_renderer().text(WITH_TOOLS)) > 0
    assert not tokenizer.exact
    assert "approximate" in open_encoder().info.note
