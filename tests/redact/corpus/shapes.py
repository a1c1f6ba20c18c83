"""Every shape of secret, made when the tests run: in this file no secret stands, not even a false one.

``SHAPED`` are values with a format of their own, ``PLACED`` are texts with ``{}`` where a secret stands, told by its
place. A value is random but for its format, and the same in every run.
"""

from __future__ import annotations

import base64
import json
import random
import string

_draw = random.Random(20_261_106)
LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def some(length: int, letters: str = LETTERS) -> str:
    """``length`` random letters, with a digit and a capital among them where ``letters`` has those."""
    while True:
        made = "".join(_draw.choice(letters) for _ in range(length))
        if any(c.isdigit() for c in made) and (letters == string.digits or any(c.isalpha() for c in made)):
            return made


def _jwt() -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return ".".join((part({"alg": "HS256", "typ": "JWT"}), part({"sub": some(10)}), some(43)))


SHAPED: list[tuple[str, str]] = [
    ("anthropic key", "sk-" + "ant-api03-" + some(93) + "AA"),
    ("anthropic key", "sk-" + "ant-admin01-" + some(80)),
    ("openai key", "sk-" + some(20) + "T3Blbk" + "FJ" + some(20)),
    ("openai key", "sk-" + "proj-" + some(74) + "T3Blbk" + "FJ" + some(40)),
    ("openai key", "sk-" + "svcacct-" + some(60)),
    ("openrouter key", "sk-" + "or-v1-" + some(64, HEX)),
    ("deepseek key", "sk-" + some(32, HEX)),
    ("api key", "sk-" + some(40)),
    ("google key", "AI" + "za" + some(35)),
    ("google token", "ya" + "29." + some(60)),
    ("google secret", "GOC" + "SPX-" + some(28)),
    ("aws key", "AK" + "IA" + some(16, string.ascii_uppercase + "234567")),
    ("aws key", "AS" + "IA" + some(16, string.ascii_uppercase + "234567")),
    ("github token", "gh" + "p_" + some(36)),
    ("github token", "gh" + "s_" + some(36)),
    ("github token", "gh" + "o_" + some(36)),
    ("github token", "github" + "_pat_" + some(22) + "_" + some(59)),
    ("gitlab token", "gl" + "pat-" + some(20)),
    ("slack token", "xo" + "xb-" + some(12, string.digits) + "-" + some(13, string.digits) + "-" + some(24)),
    ("slack token", "xa" + "pp-1-" + some(11) + "-" + some(13, string.digits) + "-" + some(64, HEX)),
    ("slack webhook", "hooks.slack" + ".com/services/T" + some(8) + "/B" + some(8) + "/" + some(24)),
    ("discord webhook", "discord" + ".com/api/webhooks/" + "1234567890" + "12345678/" + some(68)),
    ("discord token", "M" + some(25) + "." + some(6) + "." + some(38)),
    ("telegram token", "12345" + "67890:A" + "A" + some(33)),
    ("stripe key", "sk_" + "live_" + some(24)),
    ("stripe key", "rk_" + "test_" + some(24)),
    ("stripe key", "wh" + "sec_" + some(32)),
    ("hugging face token", "h" + "f_" + some(34)),
    ("npm token", "np" + "m_" + some(36)),
    ("pypi token", "py" + "pi-AgEI" + some(80)),
    ("twilio key", "S" + "K" + some(32, HEX)),
    ("sendgrid key", "S" + "G." + some(22) + "." + some(43)),
    ("groq key", "gs" + "k_" + some(52)),
    ("xai key", "xa" + "i-" + some(80)),
    ("perplexity key", "pp" + "lx-" + some(48)),
    ("cerebras key", "cs" + "k-" + some(48, string.ascii_lowercase + string.digits)),
    ("nvidia key", "nv" + "api-" + some(64)),
    ("replicate token", "r" + "8_" + some(37)),
    ("fireworks key", "f" + "w_" + some(24)),
    ("tavily key", "tv" + "ly-dev-" + some(32)),
    ("langsmith key", "lsv" + "2_pt_" + some(32, HEX) + "_" + some(10, HEX)),
    ("databricks token", "da" + "pi" + some(32, HEX)),
    ("digitalocean token", "do" + "p_v1_" + some(64, HEX)),
    ("docker token", "dck" + "r_pat_" + some(27)),
    ("linear key", "lin" + "_api_" + some(40)),
    ("notion token", "nt" + "n_" + some(46)),
    ("shopify token", "shp" + "at_" + some(32, HEX)),
    ("square token", "sq0" + "atp-" + some(22)),
    ("mailgun key", "ke" + "y-" + some(32, HEX)),
    ("mailchimp key", some(32, HEX) + "-us" + "21"),
    ("postman key", "PM" + "AK-" + some(24, HEX) + "-" + some(34, HEX)),
    ("atlassian token", "ATA" + "TT3" + some(180)),
    ("figma token", "fig" + "d_" + some(40)),
    ("grafana token", "gl" + "sa_" + some(32) + "_" + some(8, HEX)),
    ("vault token", "hv" + "s." + some(24)),
    ("terraform token", some(14) + ".atlas" + "v1." + some(60)),
    ("supabase token", "sb" + "p_" + some(40, HEX)),
    ("rubygems key", "ruby" + "gems_" + some(48, HEX)),
    ("age key", "AGE-" + "SECRET-KEY-1" + some(58, string.ascii_uppercase + string.digits)),
    ("jwt", _jwt()),
]  # fmt: skip

PLAIN = {
    "word": "hunter" + "2",
    "hard": "pR7!x" + "Qz#44w",
    "token": some(32),
    "short": some(12),
    "uuid": "-".join((some(8, HEX), some(4, HEX), some(4, HEX), some(4, HEX), some(12, HEX))),
    "b64": base64.b64encode(("deploy:" + some(20)).encode()).decode(),
    "aws": some(40, LETTERS + "+/"),
}
"""Secrets without a format."""

# kind, which of PLAIN, text around it
PLACED: list[tuple[str, str, str]] = [
    ("password", "word", 'password = "{}"'),
    ("password", "word", "password: {}\nuser: bob"),
    ("password", "word", "DB_PASSWORD={}"),
    ("password", "word", "export PGPASSWORD='{}'"),
    ("password", "hard", "db:\n  password: {}\n"),
    ("password", "hard", 'conn = connect(host="db", password="{}")'),
    ("password", "word", '{{"user": "bob", "password": "{}"}}'),
    ("password", "word", '{{\\"password\\": \\"{}\\"}}'),
    ("password", "hard", "Server=db;User Id=sa;Password={};Encrypt=true"),
    ("password", "word", "host=db user=bob password={} dbname=x"),
    ("password", "word", "<password>{}</password>"),
    ("password", "hard", "psql --password={} -h db"),
    ("password", "hard", "tool login --user bob --password {}"),
    ("password", "word", "subprocess.run(['tool', '--password', '{}'])"),
    ("password", "word", "mysql -u root -p{} shop"),
    ("password", "hard", "sshpass -p '{}' ssh bob@host"),
    ("password", "word", "docker login -u bob -p {} registry.example.org"),
    ("password", "word", "curl -u bob:{} https://example.org"),
    ("password", "word", "redis-cli -h cache -a {} ping"),
    ("password", "hard", "openssl rsa -in k.pem -passin pass:{}"),
    ("password", "word", "machine example.org login bob password {}"),
    ("password", "word", "config['db']['password'] = '{}'"),
    ("password", "word", "def login(user: str, password: str = \"{}\") -> None:"),
    ("password", "word", "if password == '{}':"),
    ("password", "word", "CREATE USER bob WITH PASSWORD '{}';"),
    ("password", "word", "the password is {}, remember it"),
    ("password", "word", "  -e MYSQL_ROOT_PASSWORD={} \\"),
    ("password", "b64", '{{"auths": {{"registry": {{"auth": "{}"}}}}}}'),
    ("api key", "token", "API_KEY={}"),
    ("api key", "token", 'apiKey: "{}",'),
    ("api key", "token", "api-key = {}"),
    ("api key", "token", "[provider]\napi_key = '{}'"),
    ("api key", "token", 'const mistralApiKey = "{}";'),
    ("api key", "uuid", "HEROKU_API_KEY={}"),
    ("api key", "token", "X-Api-Key: {}\r\nAccept: */*"),
    ("api key", "token", "curl -H 'X-Api-Key: {}' https://example.org"),
    ("api key", "token", "headers = {{'x-api-key': '{}'}}"),
    ("api key", "aws", "aws_secret_access_key = {}"),
    ("api key", "aws", 'AWS_SECRET_ACCESS_KEY="{}"'),
    ("api key", "aws", "AccountName=store;AccountKey={}==;EndpointSuffix=core.windows.net"),
    ("api key", "aws", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}="),
    ("api key", "token", "https://example.org/v1?api_key={}&q=1"),
    ("secret", "token", "client_secret={}&grant_type=x"),
    ("secret", "short", "client_secret: '{}'"),
    ("secret", "token", "JWT_SECRET={}"),
    ("token", "token", 'token: "{}"'),
    ("token", "token", "--token {} --verbose"),
    ("token", "token", "//packages.example/:_authToken={}"),
    ("token", "uuid", "//packages.example/:_authToken={}"),
    ("token", "token", "https://example.org/cb?access_token={}"),
    ("token", "token", '"refresh_token":"{}"'),
    ("token", "token", "os.environ['SLACK_TOKEN'] = '{}'"),
    ("token", "token", "line one\\nSLACK_TOKEN={}\\nline three"),
    ("token", "token", "client = Client(token='{}')"),
    ("authorization header", "token", "Authorization: Bearer {}"),
    ("authorization header", "token", "curl -H \"Authorization: Bearer {}\" https://example.org"),
    ("authorization header", "b64", "authorization: Basic {}\r\n"),
    ("authorization header", "token", "headers={{'Authorization': 'Token {}'}}"),
    ("authorization header", "token", '{{"Authorization": "Bearer {}"}}'),
    ("authorization header", "token", "> Proxy-Authorization: Bearer {}"),
    ("authorization header", "token", "he sent bearer {} with it"),
    ("cookie", "token", "Cookie: sid={}; theme=dark"),
    ("cookie", "token", "Set-Cookie: sid={}; Path=/; HttpOnly"),
    ("cookie", "token", "curl -H 'Cookie: sid={}' https://example.org"),
    ("url password", "hard", "https://bob:{}@example.org/x".replace("#", "%23")),
    ("url password", "word", "postgresql://bob:{}@db:5432/shop"),
    ("url password", "word", "redis://:{}@cache:6379/0"),
    ("url password", "token", "git remote add origin https://x-access-token:{}@github.com/a/b.git"),
    ("url password", "token", "git clone https://{}@example.org/a/b.git"),
    ("url signature", "token", "https://x.blob.core.windows.net/c/b?sv=2024-01-01&sig={}"),
    ("url signature", "token", "https://b.s3.amazonaws.com/k?X-Amz-Date=20260101T000000Z&X-Amz-Signature={}"),
]  # fmt: skip


def placed() -> list[tuple[str, str, str]]:
    """``(kind, secret, text)`` of each of ``PLACED``."""
    out = []
    for kind, which, around in PLACED:
        secret = PLAIN[which]
        if "://bob:" in around:
            secret = secret.replace("#", "%23")
        out.append((kind, secret, around.format(secret)))
    return out


def pem(kind: str = "RSA PRIVATE KEY", lines: int = 12) -> str:
    """A private key that is none."""
    body = "\n".join(some(64, LETTERS + "+/") for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n{some(22)}==\n-----END {kind}-----"
