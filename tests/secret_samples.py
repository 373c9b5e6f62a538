"""Dummies of every shape of secret, put together when asked for, and what only looks like one."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
_RNG = random.Random(20)


def drawn(length: int, alphabet: str = LETTERS) -> str:
    """Letters at random, with a small letter, a capital and a digit where the alphabet has them."""
    while True:
        text = "".join(_RNG.choice(alphabet) for _ in range(length))
        classes = [kind for kind in (str.islower, str.isupper, str.isdigit) if any(map(kind, alphabet))]
        if all(any(map(kind, text)) for kind in classes) and text[0].isalpha() == text[0].isalnum():
            return text


def key_block(kind: str = "RSA ", end: str = "\n") -> str:
    lines = ["-----BEGIN " + kind + "PRIVATE KEY-----", *[drawn(64) for _ in range(6)], drawn(30) + "=="]
    return end.join([*lines, "-----END " + kind + "PRIVATE KEY-----"])


# kind of rule → (text, the part that must not survive)
def _of(prefix: str, length: int, alphabet: str = LETTERS, suffix: str = "") -> tuple[str, str]:
    body = drawn(length, alphabet)
    return f"found {prefix}{body}{suffix} there", body


def _in(before: str, value: str, after: str = "") -> tuple[str, str]:
    return before + value + after, value


UPPER = string.ascii_uppercase + "234567"
SAMPLES: Mapping[str, tuple[str, str]] = {
    "assign": _in("FOO_" + "TOKEN=", drawn(40)),
    "phrase": _in("DB_PASS" + 'WORD = "', "Tr0ub dYEjW1", '"'),
    "here-string": _in("gh auth login --with-" + "token <<< ", "tr0ub4dor"),
    "sqlplus": _in("sqlplus -s bob/", "tr0ub4dor", "@orcl"),
    "named-value": _in('{"name": "DB_PASS' + 'WORD", "value": "', "tr0ub4dor", '"}'),
    "flag": _in("deploy --pass" + "word ", "tr0ub4dor", " now"),
    "short-name": _in("AU" + "TH=", drawn(40)),
    "next-line": _in("pass" + "word: |\n  ", "tr0ub4dor", "\nuser: bob"),
    "argument": _in("define('DB_PASS" + "WORD', '", "tr0ub4dor", "');"),
    "spaced": _in("API_" + "KEY ", drawn(36)),
    "spoken": _in("the pass" + "word is ", "tr0ub4dor", ", says Bob"),
    "table": _in("| pass" + "word | ", "tr0ub4dor", " |"),
    "element": _in("<pass" + "word>", "tr0ub4dor", "</pass" + "word>"),
    "default": _in('variable "db_pa' + 'ss" {\n  type = string\n  default = "', "hunter", '"\n}'),
    "sql": _in("CREATE ROLE app WITH LOGIN PASS" + "WORD '", "swordfish", "';"),
    "short-flag": _in("redis-cli -h cache -a ", "tr0ub4dor", " ping"),
    "glued-flag": _in("mysql -uroot -p", "tr0ub4dor", " shop"),
    "htpasswd": _in("htpasswd -b /etc/nginx/users bob ", "tr0ub4dor"),
    "openssl": _in("openssl rsa -in k.txt -passin pa" + "ss:", "tr0ub4dor", " -out x"),
    "piped": _in("echo ", "tr0ub4dor", " | docker login -u bob --password-stdin"),
    "pgpass": _in("db.example.com:5432:shop:app:", "tr0ub4dor", "\n"),
    "docker-auth": _in('"auths": {"r.example.com": {"au' + 'th": "', "Ym9iOmh1bnRlcg==", '"}}'),
    "mark-cookie": _in("Set-Coo" + "kie: session=", drawn(32), "; Path=/; HttpOnly"),
    "mark-kubernetes": _in("kind: Secret\ndata:\n  config.json: ", "aHVudGVyaHVudGVy", "\ntype: Opaque"),
    "curl-user": _in("curl -s -u bob:", "tr0ub4dor", " https://example.com"),
    "sshpass": _in("sshpass -p ", "tr0ub4dor", " ssh host"),
    "netrc": _in("machine example.com login bob pass" + "word ", "tr0ub4dor"),
    "authorization": _in("Authori" + "zation: Bearer ", "tr0ub4dor3"),
    "bearer": _in("sent bear" + "er ", drawn(30), " along"),
    "basic": _in("header ba" + "sic ", "Ym9iOnRyMHViNGRvcg==", " seen"),
    "url-password": _in("postgres://app:", "tr0ub4dor", "@db.example.com:5432/app"),
    "url-user": _in("https://", drawn(30), "@example.com/team/app.git"),
    "jwt": _in("ey" + "J", drawn(30) + "." + drawn(60) + "." + drawn(43)),
    "age": _of("AGE-SECRET-" + "KEY-1", 58, UPPER),
    "sk": _of("s" + "k-ant-api03-", 90),
    "aws": _of("AK" + "IA", 16, UPPER),
    "atlassian": _of("ATA" + "TT3", 80),
    "azure": _in("DefaultEndpointsProtocol=https;AccountName=a;Account" + "Key=", drawn(86) + "==", ";x"),
    "azure-sas": _in("https://a.example.com/c?se=2030&si" + "g=", drawn(43) + "%3D", "&sp=r"),
    "azure-client": _of("ab1" + "8Q~", 33),
    "databricks": _of("da" + "pi", 32, HEX),
    "digitalocean": _of("do" + "p_v1_", 64, HEX),
    "discord": _in("bot ", "M" + drawn(25) + "." + drawn(6) + "." + drawn(38), " up"),
    "discord-webhook": _in("https://discord.com/api/web" + "hooks/123456789012345678/", drawn(68)),
    "docker": _of("dck" + "r_pat_", 27),
    "doppler": _of("dp." + "pt.", 43),
    "figma": _of("fi" + "gd_", 43),
    "github": _of("gh" + "p_", 36),
    "gitlab": _of("gl" + "pat-", 20),
    "google": _of("AI" + "za", 35),
    "grafana": _of("gl" + "sa_", 41),
    "groq": _of("gs" + "k_", 52),
    "huggingface": _of("h" + "f_", 34),
    "linear": _of("lin_" + "api_", 40),
    "mailchimp": _of("", 32, HEX, "-us" + "12"),
    "mailgun": _of("key" + "-", 32, HEX),
    "mem0": _of("m" + "0-", 40),
    "netlify": _of("nf" + "p_", 40),
    "newrelic": _of("NR" + "AK-", 27, UPPER),
    "notion": _of("nt" + "n_", 46),
    "npm": _of("np" + "m_", 36),
    "perplexity": _of("ppl" + "x-", 48),
    "planetscale": _of("psc" + "ale_tkn_", 43),
    "postman": _in("key PM" + "AK-", drawn(24, HEX) + "-" + drawn(34, HEX)),
    "pypi": _of("py" + "pi-AgEIcHlwaS5vcmc", 80),
    "replicate": _of("r" + "8_", 37),
    "sendgrid": _in("SG" + ".", drawn(22) + "." + drawn(43)),
    "sentry": _of("sntr" + "ys_", 80),
    "shopify": _of("shp" + "at_", 32, HEX),
    "slack": _in("xo" + "xb-", drawn(12, string.digits + "") if False else "123456789012-" + drawn(24)),
    "slack-webhook": _in("https://hooks.sl" + "ack.com/services/", "T00000000/B00000000/" + drawn(24)),
    "square": _of("sq" + "0csp-", 43),
    "stripe": _of("sk" + "_live_", 24),
    "supabase": _of("sb" + "p_", 40, HEX),
    "tailscale": _of("ts" + "key-auth-", 40),
    "telegram": _in("bot ", "123456789:" + "AA" + drawn(33)),
    "terraform": _in("", drawn(14) + ".atlas" + "v1." + drawn(67)),
    "twilio": _of("S" + "K", 32, HEX),
    "vault": _of("hv" + "s.", 90),
    "xai": _of("xa" + "i-", 80),
    "mark-key": (key_block(), key_block.__name__),
    "mark-putty": _in("Private-" + "Lines: 2\n", drawn(64) + "\n" + drawn(40), "\nPrivate-MAC: x"),
    "mark-private": ("before <private>tr0ub4dor</private> after", "tr0ub4dor"),
    "mark-base64": _in("![x](data:image/png;base64,", drawn(400), ")"),
}

PASS, TOKEN, SECRET = "pass" + "word", "to" + "ken", "sec" + "ret"
VALUE = "tr0ub4dor"
LONG = drawn(40)

# Text with one secret in it, by the way it is written.
FORMS: Mapping[str, tuple[str, str]] = {
    "json": _in(f'{{"{PASS}": "', VALUE, '"}'),
    "json inside json": _in(f'{{\\"{PASS}\\": \\"', VALUE, '\\"}'),
    "json inside json inside json": _in(f'{{\\\\\\"{PASS}\\\\\\": \\\\\\"', VALUE, '\\\\\\"}'),
    "yaml": _in(f"db:\n  {PASS}: ", VALUE, "\n"),
    "env file": _in(f"A=1\nDB_{PASS.upper()}=", "hunter", "\nB=2"),
    "env file, escaped line ends": _in(f"A=1\\nDB_{PASS.upper()}=", VALUE, "\\nB=2"),
    "env file, numbered lines": _in(f"     1\u2192A=1\n     2\u2192API_{TOKEN.upper()}=", LONG, "\n     3\u2192B=2"),
    "export with quotes": _in(f"export {SECRET.upper()}_KEY='", VALUE, "'"),
    "quoted with signs": _in(f'{PASS} = "', "p&ss;w0rd", '"'),
    "toml": _in(f'api_{TOKEN} = "', LONG, '"'),
    "ini": _in("aws_" + f"{SECRET}_access_key = ", drawn(40)),
    "url query": _in(f"https://example.com/x?access_{TOKEN}=", LONG, "&page=2"),
    "url-encoded": _in(f"{PASS}%3D", VALUE, "%26next"),
    "url-encoded prefix": _in("url=https%3A%2F%2Fx%3Ft%3Dgh" + "p_", drawn(36)),
    "command line prefix": _in(f"PG{PASS.upper()}=", VALUE, " psql -h db"),
    "flag with equals": _in(f"tool --api-{TOKEN}=", LONG),
    "header dump": _in("X-Api-" + "Key: ", LONG),
    "cookie": _in("Cookie: session_" + f"{TOKEN}=", LONG),
    "code": _in("const api" + "Key = '", LONG, "';"),
    "python": _in(f'client = Client({PASS}="', VALUE, '")'),
    "beside letters of other scripts": _in(f"пароль größe 日本 {PASS}=", VALUE, " ✓"),
    "after an emoji": _in("🙂🙂 gh" + "p_", "x" * 36),
    "redis address": _in("redis://:", VALUE, "@cache:6379/0"),
    "mongo address": _in("mongodb+srv://app:", VALUE, "@cluster0.example.net/?x=1"),
    "mysqldump": _in("mysqldump -h db -u root -p'", VALUE, "' shop > x.sql"),
    "curl, glued": _in("curl -uuser:", VALUE, " https://example.com"),
    "sshpass, glued": _in("sshpass -p'", VALUE, "' ssh host"),
    "security": _in("security add-generic-password -a bob -s app -w ", VALUE),
    "htpasswd, no file": _in("htpasswd -nbB bob '", VALUE, "'"),
    "docker login": _in("docker login -u bob -p ", VALUE, " r.example.com"),
    "ldap": _in("ldapsearch -x -D cn=admin -w ", VALUE, " -b dc=x"),
    "zip": _in("zip -r -P ", VALUE, " a.zip dir"),
    "openssl enc": _in("openssl enc -aes-256-cbc -k ", VALUE, " -in a"),
    "chpasswd": _in("echo 'bob:", VALUE, "' | sudo chpasswd"),
    "flag in a list": _in(f'["deploy", "--{PASS}", "', "swordfish", '"]'),
    "flag in a tight list": _in(f'["deploy","--{PASS}","', "swordfish", '"]'),
    "flag of a token": _in(f"gh --{TOKEN}=", "swordfish"),
    "pass flag": _in("tool --pa" + "ss ", VALUE),
    "xml, named attribute": _in(f'<add key="{PASS.title()}" value="', "swordfish", '"/>'),
    "xml, escaped": _in(f"&lt;{PASS}&gt;", VALUE, f"&lt;/{PASS}&gt;"),
    "xml, prefixed, with data": _in(f"<wsse:{PASS.title()} Type='x'><![CDATA[", VALUE, f"]]></wsse:{PASS.title()}>"),
    "yaml, name beside value": _in(f"- name: DB_{PASS.upper()}\n  value: ", VALUE, "\n"),
    "sql, alter": _in(f"ALTER USER bob {PASS.upper()} '", "swordfish", "';"),
    "sql, identified": _in("CREATE USER 'bob'@'%' IDENTIFIED BY '", "swordfish", "';"),
    "sql, identified with": _in("... IDENTIFIED WITH caching_sha2_password BY '", "swordfish", "';"),
    "setenv": _in(f'setenv("API_{TOKEN.upper()}", "', "swordfish", '")'),
    "ini, pass": _in("[db]\npa" + "ss = ", VALUE, "\n"),
    "psk": _in("network={\n  ps" + 'k="', "swordfish", '"\n}'),
    "psk, bare": _in("p" + "sk=", VALUE),
    "camel": _in("dbPa" + "ss: '", VALUE, "'"),
    "connection string": _in(f"Server=db;User Id=app;{PASS.title()}=", "swordfish", ";Encrypt=true"),
    "connection string, pwd": _in("Driver={x};Uid=app;Pw" + "d=", "swordfish", ";"),
    "netrc, lines": _in(f"machine example.com\n  login bob\n  {PASS} ", "swordfish", "\n"),
    "authorization, token": _in("Authori" + "zation: token ", LONG),
    "authorization, bare": _in("Authori" + "zation: ", LONG),
    "auth header": _in("AUTH_HEA" + "DER=Bearer ", VALUE),
    "auth base64, yaml": _in("_au" + "th=", "Ym9iOmh1bnRlcg=="),
    "cookie, second": _in("Coo" + "kie: theme=dark; sessionid=", "swordfish7", "; lang=en"),
    "cookie, curl": _in("curl -b 'connect.sid=", LONG, "' https://example.com"),
    "kubernetes, kind last": _in("apiVersion: v1\ndata:\n  user: ", "aHVudGVyaHVudGVy", "\nkind: Secret\nmetadata:"),
    "kubernetes, json": _in('{"kind": "Secret", "data": {"user": "', "aHVudGVyaHVudGVy", '"}, "type": "Opaque"}'),
    "kubernetes, second": _in("kind: Secret\nmetadata:\n  name: x\nstringData:\n  a: bb\n  b: ", "swordfish", "\n"),
    "table, ticks": _in(f"| **DB {PASS}** | `", VALUE, "` |"),
    "told with a colon": _in(f"my db {PASS} is: ", VALUE),
    "told with use": _in(f"then use {PASS} ", VALUE, " to log in"),
    "told with pw": _in("use p" + "w ", VALUE),
    "creds": _in("cre" + "ds = '", "bob:" + VALUE, "'"),
    "told with to": _in(f"I changed the {PASS} of the root user to ", VALUE, "."),
    "told in quotes": _in(f"the {PASS} is '", "p@ssw-rd", "'"),
    "told in digits": _in(f"the {PASS} is ", "83920174"),
    "told token": _in(f"the {TOKEN} is ", LONG),
    "letters alone": _in(f"{PASS}: ", "qwpzmxkvbnrtfdsghjkl"),
    "letters of both cases": _in(f"{PASS}: ", "qWzRtYkLpOxVbNmGhT"),
    "spaced, lower": _in(f"github {TOKEN} ", LONG),
    "zero width in the name": _in(f"{PASS[:4]}\u200b{PASS[4:]}=", VALUE),
    "zero width behind the name": _in(f"{PASS}\u2060: ", VALUE),
    "printenv": _in("HOME=/root\nADMIN_" + f"{TOKEN.upper()}=", LONG, "\nPWD=/srv"),
    "export -p": _in(f'declare -x ADMIN_{TOKEN.upper()}="', LONG, '"'),
    "from literal": _in(f"kubectl create secret generic x --from-literal={PASS}=", VALUE),
    "words in quotes": _in(f'{PASS}: "', "correct horse battery", '"'),
    "words in quotes, json": _in(f'{{"{PASS}":"', "Tr0ub aaa1", '"}'),
    "words in quotes, json inside json": _in(f'{{\\"{PASS}\\": \\"', "Tr0ub aaa1", '\\"}'),
    "words in quotes, short": _in(f'DB_{PASS.upper()}="', "a b c9X", '"'),
    "words in single quotes": _in(f"{PASS}: '", "two words 9", "'"),
    "words in quotes that end like a sentence": _in(f'{PASS} = "', "Tr0ub4 dYEjW1!", '"'),
    "subscription key": _in("Ocp-Apim-Subscription-" + "Key: ", drawn(32, HEX)),
    "full-width colon": _in(f"{PASS}\uff1a", VALUE),
    "here-string, quoted": _in("docker login -u bob --pass" + "word-stdin <<< '", VALUE, "'"),
    "key, openssh": (key_block("OPENSSH "), ""),
    "key, escaped": (key_block("", "\\n"), ""),
    "key, numbered": (key_block("EC ", "\n  12\u2192"), ""),
    "key, torn": (key_block("")[:300], ""),
}

NAMES_OF_SECRETS = (
    "AWS_SESSION_TOKEN ADMIN_TOKEN NOTION_TOKEN LOGIN_TOKEN session_token PROMPT_TOKEN GITLAB_READ_TOKEN GITHUB_PAT "
    "AUTH AUTH_HEADER DB_CREDENTIALS SIGNING_KEY TOKEN_HEADER completion_token SLACK_BOT_TOKEN refreshToken userPass"
).split()
# How a name and its value are written.
WRITTEN = ("{}={}", "export {}={}", "export {}='{}'", '"{}": "{}"', "{}: {}", "  {}: '{}'", "{} = {}", "-e {}={} app")

# How a short token is written, its name in it.
SHORT_TOKENS = (
    f"ADMIN_{TOKEN.upper()}: {{}}",
    f"ADMIN_{TOKEN.upper()}={{}}",
    f"AUTH_{TOKEN.upper()}: {{}}",
    f"AWS_SESSION_{TOKEN.upper()}: {{}}",
    f"{TOKEN}: {{}}",
    f'"admin{TOKEN.title()}": "{{}}"',
    f'"auth{TOKEN.title()}": "{{}}"',
    f'admin{TOKEN.title()} = "{{}}"',
    f'{{{{"{TOKEN}": "{{}}"}}}}',
)

# What recall looks for. None of it may change.
STAYS: Mapping[str, str] = {
    "git commit": "commit 6901df7a4cbe1d2f0c9b8a7e6d5c4b3a29180716",
    "short commit": "HEAD is now at 6901df7 Lay out the house",
    "uuid": "session 9e55e412-0678-4e55-ae19-607835084b9a",
    "tool id": "toolu_01A09q90qw90lq917835lq9",
    "message id": "msg_01XFDUDYJgAACzvnptvVoYEL",
    "request id": "req_011CSHoEeqs5C35K2UUqR7Fy",
    "sha256": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "integrity": '"integrity": "sha512-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC=="',
    "base64 of code": "cHJpbnQoImhlbGxvIHdvcmxkIik=",
    "path": "/home/user/project/src/secrets/token_store/passwords.py:42",
    "css": "color: #ff00aa; background: rgba(1, 2, 3, 0.5)",
    "style class": "sk-estimator-doc-link-wrapper-with-a-long-name",
    "test id": "tests/test_auth.py::test_token_is_refused_when_expired[case-12-x86_64]",
    "type": "password: string; token?: string; apiKey: string | undefined",
    "call": "const token = getToken(); password = input('Password: ')",
    "environment": "token = process.env.API_TOKEN; secret=os.environ['CLIENT_SECRET']",
    "shell variable": 'curl -H "Authorization: Bearer $TOKEN" --password "$PASSWORD" -u $USER:$PASS',
    "template": 'password: "${DB_PASSWORD}" token: {{ .Values.token }} secret: <your-secret>',
    "counts": '"max_tokens": 4096, input_tokens: 12345678, token_count=99999999',
    "address": "postgres://$USER:$PASSWORD@localhost/app and https://example.com:8080/a@b",
    "mail": "git@github.com:team/app.git and bob@example.com",
    "prose": "The password must be changed. Use basic authentication, or a bearer of bad news; the token: it expired.",
    "form label": 'label = "Password: enter your password"; secret: "string"',
    "masked": "password: ********  token=[redacted:github]",
    "version": "claude-code 2.1.197, python 3.11.7, x86_64-unknown-linux-gnu-20240107T000000Z",
    "public key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6f3YyM2FhY2Q0ZTVmNjc4OTAxMjM0NTY3 user@host",
    "code fence": "```python\nassert token == expected_token\nfor key, secret in pairs:\n    print(key)\n```",
    "keyword": "sort_key=created_at_ms primary_key=True cache_key='user:42:profile'",
    "docker digest": "FROM python@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
    "tokenizer": 'tokenizer="sentence-transformers/all-MiniLM-L6-v2"',
    "token file": "token_file=/run/credentials/app TOKEN_URL=https://example.com/oauth/token",
    "model": "claude-sonnet-4-5-20250929 and gpt-4o-2024-08-06",
    "kubernetes": "pod/app-7d9f8b6c5d-x2k4q secretName: db-credentials tokenRequests: []",
    "prose about passwords": (
        "The password is required; a password is base64-encoded, then the password is hashed with argon2id or sha256. "
        "The password is 8 characters at least. Reset password for user12345. Set the password to something strong."
    ),
    "prose about tokens": "The token is refreshed at 10:42, the token was 6901df7, and the key is created_at_ms.",
    "prose about flags": "Pass --password when asked; the --token flag is deprecated, --secret option too.",
    "sql column": "create table users (id integer, password varchar(255) not null, token text)",
    "sql words": "users are identified by number; alter table users drop password column",
    "markdown table": "| password | string | required |\n| token | the token of the user | no |\n| max_tokens | 4096 |",
    "validation": "fields = ['password', 'confirm_password', 'username']; errors.add('password', 'too short')",
    "jsx": "<Password>Enter</Password> <PasswordHint>Hello</PasswordHint> <token>string</token>",
    "go tests": "--- PASS: TestLogin2 (0.00s)\nPASS: tests/test_a.py::test_login2\npass: 12 passed, auth: required",
    "counted": "MAX_TOKENS=4096 inputTokens=1234 completion_tokens: 99 TOTAL_TOKENS=123456 n_tokens=5 maxTokens: 8192",
    "grep": "src/app.py:1042:auth:login:failed and tests/a.py:12:5:error:unused",
    "compiler": "main.c:1042:note:in:expansion",
    "cookie": "Cookie: theme=dark; lang=en",
    "kubernetes kind": "kind: ConfigMap\ndata:\n  a: aHVudGVyaHVudGVy\nkind: SecretStore",
    "author": "author = 'Robert L. Stevenson the 2nd of that name'; AUTHORS=/srv/authors; pattern = 'a+b1'",
    "auth settings": "AUTH_TYPE=oauth2-client AUTH_MODE=username-password authMethod: 'kubernetes' auth=required",
    "uuid of a token": "token 9e55e412-0678-4e55-ae19-607835084b9a; token_id=9e55e412-0678-4e55-ae19-607835084b9a",
    "private in code": "class A : private B {}; std::vector<private_key> x; <privateer>",
    "mysql port": "mysql --port=3306 -P 3306 -h db; mysqld is running -pid; docker run -p 8080:80 app",
    "hosts": "the password to db1.example.com is kept there; access token to s3://bucket1/file",
    "kept hash": "bob:$2y$05$abcdefghijklmnopqrstuu",
    "words after token": "token=authentication_failed_error; secret: see docs/secrets.md; key = some_dict['key']",
    "names as values": 'api_key_secret = "SERVICE_API_KEY"; CANDIDATES_KEY = "tripwire-candidates"',
    "key to a class": "a dict mapping block key to BlockTypeInfo, and secret to SecretStoreFactory",
    "joined emoji": "family \U0001f468\u200d\U0001f469\u200d\U0001f467 and \ufeffmark",
    "short words after token": (
        "max_tokens: 4096 token_count=512 tokens: 12k token: str token: Token const token = getToken1() "
        "token: OAuth2Token token: Ed25519Key"
    ),
    "short references after token": (
        "token: $TOKEN1x token: ${TOKEN1x} token: <token-1> token: v1.2.3-rc1 token: 2024-08-06 token: /srv/a1.txt "
        "token: https://example.com/a1 token = a1.token token: sha256-digest token_id: 6901df7a"
    ),
    "labels in quotes": (
        '"password": "Password is required", password: \'Must be 8 characters\', "password": "Mot de passe perdu ?"'
    ),
    "templates in quotes": 'password = "${DB} and more"; PASSWORD="$(pass show db)"; password: "<the one you got>"',
    "directory in quotes": 'PWD="/home/user/my project"; OLDPWD="~/my project"',
    "quotes that hold a name": '{"a": "password:", "b": "c d"} and "password=" + first + " last"',
    "sqlplus without a password": "sqlplus / as sysdba; sqlplus /nolog; sqlplus bob/$PW@orcl",
    "here-string of a variable": 'gh auth login --with-token <<< "$GH"; cat <<< "hello there"',
    "grep in files of that name": "tests/test_api_secret.py:12:from x import y\nsrc/token.ts:3:export const",
}
