"""Secrets leave the process in no form."""

import json

from fathom.redaction import SecretRegistry


def test_a_secret_is_hidden_in_every_form_of_json() -> None:
    registry = SecretRegistry()
    secret = 'p\u00e4ss"word-1'
    registry.add(secret)
    for text in (secret, json.dumps(secret), json.dumps(secret, ensure_ascii=False)):
        assert "word-1" not in registry.redact(text)


def test_further_secrets_leave_the_forms_of_the_first_as_they_are() -> None:
    registry = SecretRegistry()
    registry.add('quoted"secret')
    forms = set(registry.values)
    for number in range(40):
        registry.add(f"another-secret-{number}")
    assert {value for value in registry.values if "quoted" in value} == forms
