"""Pictures, sound and video in prompts."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from keepwarm.trace.render import builtin_renderer, load_renderer
from keepwarm.trace.render.media import MEDIA_REPEATS
from tests.trace_tokens.contract import chat, check_spans


def image(data: bytes) -> dict[str, Any]:
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    return {"type": "image_url", "image_url": {"url": url}}


WALKING = load_renderer(
    "{% for m in messages %}{% for p in m.content %}{% if p.type == 'image' %}<img>{% else %}{{ p.text }}"
    "{% endif %}{% endfor %}{% endfor %}"
)


@pytest.mark.parametrize("renderer", [builtin_renderer(), WALKING], ids=["flat", "walking"])
def test_other_bytes_give_another_text_and_the_same_bytes_the_same(renderer: Any) -> None:
    def text(data: bytes) -> str:
        request = chat({"role": "user", "content": [{"type": "text", "text": "See"}, image(data)]})
        rendered = renderer.render(request)
        check_spans(request, rendered)
        assert rendered.text == renderer.text(request)
        spans = [span for span in rendered.spans if span.path == "messages[0].content[1].image_url.url"]
        assert [span.value_start for span in spans] == [-1]
        assert rendered.text[spans[0].start : spans[0].end].count("<|media:") == MEDIA_REPEATS
        return str(rendered.text)

    assert text(b"x" * 3_000_000) == text(b"x" * 3_000_000)
    assert text(b"x" * 3_000_000) != text(b"x" * 2_999_999 + b"y")
    assert len(text(b"x" * 3_000_000)) < 1000


def test_templates_that_walk_see_a_medium_and_print_their_own_mark() -> None:
    request = chat({"role": "user", "content": [image(b"1"), {"type": "text", "text": "See"}]})
    assert WALKING.text(request).startswith("<img><|media:")
    assert WALKING.text(request).endswith("See")


PARTS: list[tuple[Any, str]] = [
    ({"type": "image_url", "image_url": "https://host/a.png"}, "messages[0].content[0].image_url"),
    ({"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}}, ".input_audio.data"),
    ({"type": "video_url", "video_url": {"url": "v"}}, "messages[0].content[0].video_url.url"),
    ({"type": "file", "file": {"file_data": "QQ=="}}, "messages[0].content[0].file.file_data"),
    ({"type": "image_url", "image_url": {"url": None}}, "messages[0].content[0]"),
    ({"type": "image_url"}, "messages[0].content[0]"),
    ({"type": 7, "x": [1]}, "messages[0].content[0]"),
    ({}, "messages[0].content[0]"),
    (7, "messages[0].content[0]"),
    (None, "messages[0].content[0]"),
    ([["deep"]], "messages[0].content[0]"),
    ({"type": "image_url", "image_url": {"url": "\ud800"}}, "messages[0].content[0].image_url.url"),
]


@pytest.mark.parametrize(("part", "path"), PARTS, ids=range(len(PARTS)))
def test_odd_parts_are_media_of_their_own(part: Any, path: str) -> None:
    request = chat({"role": "user", "content": [part]})
    rendered = builtin_renderer().render(request)
    check_spans(request, rendered)
    assert any(span.path is not None and span.path.endswith(path) for span in rendered.spans)


@pytest.mark.parametrize(
    "content", [7, {"a": 1}, [], [None], [{"type": "text"}], [{"type": "text", "text": 5}]]
)
def test_odd_content_renders(content: Any) -> None:
    request = chat({"role": "user", "content": content})
    check_spans(request, builtin_renderer().render(request))
