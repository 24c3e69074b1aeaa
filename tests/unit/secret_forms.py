# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Texts as nodes log them: with a secret in every known form, and without secrets."""

from __future__ import annotations

import json

SECRET = "Zq7x-Correct4711"

_POD = {"containers": [{"name": "shop", "env": [{"name": "DB_PASSWORD", "value": SECRET}]}]}
_LIST = [{"key": "API_TOKEN", "value": SECRET}]

FORMS: dict[str, str] = {
    # Kubernetes' env, as kubelet, containerd and kubectl print it.
    "env in JSON": json.dumps(_POD),
    "env in JSON without blanks": json.dumps(_POD, separators=(",", ":")),
    "env in JSON for people": json.dumps(_POD, indent=2),
    "env in escaped JSON": json.dumps(json.dumps(_POD)),
    "env in twice escaped JSON": json.dumps({"line": json.dumps({"annotation": json.dumps(_POD)})}),
    "env in YAML": f"    env:\n    - name: DB_PASSWORD\n      value: {SECRET}\n    - name: HOME",
    "env in YAML, quoted": f'    - name: "DB_PASSWORD"\n      value: "{SECRET}"\n',
    "env with value first": json.dumps([{"value": SECRET, "name": "DB_PASSWORD"}]),
    "env with value first, escaped": json.dumps(json.dumps([{"value": SECRET, "name": "DB_PASSWORD"}])),
    "env as Go prints it": f"Env:[]EnvVar{{EnvVar{{Name:DB_PASSWORD,Value:{SECRET},ValueFrom:nil,}},}},",
    "env with pass": json.dumps([{"name": "DB_PASS", "value": SECRET}]),
    "CRI's pairs": json.dumps(_LIST),
    "CRI's pairs as Go prints them": f"Envs:[]*KeyValue{{&KeyValue{{Key:API_TOKEN,Value:{SECRET},}},}}",
    "CRI's pairs as protobuf prints them": f'envs:{{key:"API_TOKEN"  value:"{SECRET}"}}',
    "env of docker inspect": json.dumps({"Env": [f"DB_PASSWORD={SECRET}", "PATH=C:\\Windows"]}),
    "env of an OCI spec, escaped": json.dumps(json.dumps({"process": {"env": [f"API_TOKEN={SECRET}"]}})),
    "winsw's XML": f'<env name="DB_PASSWORD" value="{SECRET}"/>',
    ".NET's settings": f'<add key="ApiKey" value="{SECRET}" />',
    "Format-List": f"Name  : DB_PASSWORD\r\nValue : {SECRET}\r\n",
    "Get-ChildItem env:": f"COMPUTERNAME                   WIN-1\nDB_PASSWORD                    {SECRET}\n",
    # Names and separators.
    "DB_PASS=": f"DB_PASS={SECRET}",
    "pass=": f"connecting with user=me pass={SECRET} host=db",
    "pass:": f"pass: {SECRET}",
    "JSON pass": json.dumps({"user": "me", "pass": SECRET}),
    "adminPass": f"adminPass={SECRET}",
    "password=": f"password={SECRET}",
    "Password:": f"Password: {SECRET}",
    "passwd": f"passwd = {SECRET}",
    "pwd in a connection string": f"Server=db;Uid=sa;Pwd={SECRET};Encrypt=true",
    "Password in a connection string": f'"Server=db;User ID=sa;Password={SECRET};"',
    "passphrase": f"passphrase: correct horse {SECRET}",
    "secret": f"client_secret={SECRET}",
    "camel case": f'{{"clientSecret":"{SECRET}"}}',
    "token=": f"token={SECRET}",
    "accessToken": f'"accessToken": "{SECRET}"',
    "api key": f"api-key: {SECRET}",
    "apikey": f"apikey={SECRET}",
    "account key": f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={SECRET}",
    "shared access key": f"SharedAccessKeyName=x;SharedAccessKey={SECRET}",
    "AWS's secret": f"aws_secret_access_key = {SECRET}",
    "private key": f'"private_key": "{SECRET}"',
    "certificate key": f"--certificate-key {SECRET}",
    "credential": f"credential={SECRET}",
    "containerd's auth": f'"auth": "{SECRET}"',
    "docker's config.json": json.dumps({"auths": {"r.example": {"auth": SECRET}}}),
    "identity token": json.dumps({"identitytoken": SECRET}),
    "hosts.toml": f'  authorization = "Basic {SECRET}"',
    "TOML": f'password = "{SECRET}"',
    "single quotes": f"password='{SECRET}'",
    "Ruby's and PowerShell's sign": f"password => {SECRET}",
    "a hash of PowerShell": f"@{{ Password = '{SECRET}' }}",
    "a variable of PowerShell": f'$password = "{SECRET}"',
    "an environment variable of PowerShell": f"$env:DB_PASSWORD = '{SECRET}'",
    "set": f"set DB_PASSWORD={SECRET}",
    "export": f"export API_TOKEN={SECRET}",
    "in brackets": f"headers[token]={SECRET}",
    "an escaped quote inside": json.dumps({"password": f'a"{SECRET}'}),
    "an escaped quote inside, escaped": json.dumps(json.dumps({"password": f'a"{SECRET}'})),
    "a backslash at the end": json.dumps({"password": SECRET + "\\", "user": "me"}),
    "no closing quote": f'password="{SECRET} and the line is cut',
    # Several words, and several lines.
    "more words": f"password: correct horse {SECRET}\nuser: me",
    "more words behind =": f"db_password = correct horse {SECRET}",
    "JSON on the next line": f'{{\n  "password":\n    "{SECRET}",\n  "user": "me"\n}}',
    "a block of YAML": f"db:\n  password: |\n    first\n    {SECRET}\n  user: me",
    "a folded block of YAML": f"- password: >-\n    {SECRET}\n  user: me",
    "YAML on the next line": f"password:\n  {SECRET}\nuser: me",
    "a list": f'"token": ["{SECRET}", "other"]',
    "a list for people": json.dumps({"tokens": [SECRET, "other"]}, indent=2),
    "a list of Go": f"tokens:[{SECRET} other]",
    "an object": json.dumps({"secret": {"value": SECRET}}),
    "an object for people": json.dumps({"secret": {"type": "Opaque", "value": SECRET}}, indent=2),
    "an object, escaped": json.dumps(json.dumps({"token": {"value": SECRET}})),
    # Headers.
    "Authorization": f"Authorization: Bearer {SECRET}",
    "Authorization in JSON": json.dumps({"Authorization": [f"Bearer {SECRET}"]}),
    "Proxy-Authorization": f"Proxy-Authorization: Basic {SECRET}",
    "Cookie": f"Cookie: theme=dark; session={SECRET}",
    "Set-Cookie": f"< Set-Cookie: sid={SECRET}; Path=/; HttpOnly",
    "Cookie in JSON": json.dumps({"Cookie": [f"sid={SECRET}"]}),
    "X-Registry-Auth": f"X-Registry-Auth: {SECRET}",
    "X-Vault-Token": f"X-Vault-Token: {SECRET}",
    # URLs.
    "user in a URL": f"https://me:{SECRET}@registry.example/v2/",
    "token in a URL": f"https://{SECRET}@github.com/x",
    "proxy without scheme": f"HTTPS_PROXY=me:{SECRET}@proxy.example:3128",
    "signature of a SAS": f"https://x.blob.core.windows.net/a?sv=2022&sig={SECRET}&se=2026",
    "token in a query": f"GET /v2?access_token={SECRET}&x=1",
    "AWS's signature": f"https://s3/x?X-Amz-Signature={SECRET}",
    "a form": f"grant_type=password&username=me&password={SECRET}",
    # Command lines.
    "--password": f"kubectl config set-credentials me --password={SECRET}",
    "--token": f"kubeadm.exe join 10.0.0.1:6443 --token {SECRET} --v=5",
    "-Password": f"New-Thing -Password {SECRET} -Name x",
    "/pass:": f"cmdkey /add:host /user:me /pass:{SECRET}",
    "/password:": f"djoin /password:{SECRET}",
    "net user": f"net user me {SECRET} /add",
    "net use": f"net use Z: \\\\server\\share {SECRET} /user:me",
    "schtasks": f"schtasks /create /ru me /rp {SECRET} /tn x",
    "plink": f"plink.exe -pw {SECRET} me@host",
    "docker login": f"docker.exe login -u me -p {SECRET} r.example",
    "crictl": f"crictl pull --creds me:{SECRET} r.example/x",
    "ctr": f"ctr images pull --user me:{SECRET} r.example/x",
    "curl": f"curl.exe -u me:{SECRET} https://x",
    "arguments in JSON": json.dumps(["pull", "--creds", f"me:{SECRET}"]),
    "ConvertTo-SecureString": f'ConvertTo-SecureString "{SECRET}" -AsPlainText -Force',
    "ConvertTo-SecureString -String": f"ConvertTo-SecureString -String '{SECRET}' -AsPlainText",
    "sc.exe": f"sc.exe config x obj= me password= {SECRET}",
    ".netrc": f"machine r.example login me password {SECRET}",
    "SQL": f"CREATE USER me IDENTIFIED BY '{SECRET}'",
    # XML elements.
    "an answer file": f"<AdministratorPassword><Value>{SECRET}</Value></AdministratorPassword>",
    "a password's element": f"<Password>{SECRET}</Password>",
    "a token's element": f"<accessToken>{SECRET}</accessToken>",
    "a WLAN's key": f"<keyMaterial>{SECRET}</keyMaterial>",
    # Recognized by their format.
    "GitHub": "ghp_" + "Zq7xCorrect4711" * 3,
    "GitHub's fine-grained": "github_pat_" + "Zq7xCorrect4711" * 3,
    "GitLab": "glpat-Zq7xCorrect4711Zq7x",
    "Docker Hub": "dckr_pat_Zq7xCorrect4711Zq7x",
}
"""Every text contains a secret. None of its words `Correct4711` may remain."""

HARMLESS: tuple[str, ...] = (
    'I1121 14:00:00.123456    1234 kubelet.go:2345] "SyncLoop ADD" source="api" pods=["kube-system/kube-proxy-abcde"]',
    (
        'I1121 14:00:00.1 1 reconciler_common.go:253] "operationExecutor.VerifyControllerAttachedVolume started '
        '\\"kube-api-access-x7\\" (UniqueName: \\"kubernetes.io/projected/9a4b-kube-api-access-x7\\") pod \\"cart-1\\""'
    ),
    (
        'E1121 1 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \\"StartContainer\\" for '
        '\\"cart\\" with ImagePullBackOff: \\"Back-off pulling image \\\\\\"r.example/cart:1\\\\\\"\\"" pod="cart-1"'
    ),
    (
        'time="2026-11-21T14:00:00.123Z" level=info msg="PullImage \\"mcr.microsoft.com/oss/kubernetes/pause:3.10\\" '
        'returns image reference \\"sha256:7c38f24774e3\\"" runtime=io.containerd.runhcs.v1'
    ),
    (
        'time="2026-11-21T14:00:00Z" level=error msg="RunPodSandbox for &PodSandboxMetadata{Name:cart-1,Uid:9a4b,'
        'Namespace:shop,Attempt:0,} failed, error" error="failed to create containerd task: hcs::CreateComputeSystem"'
    ),
    "W1121 14:00:00.1 1 reflector.go:561] failed to list *v1.Secret: secrets is forbidden: User cannot list resource",
    (
        'I1121 14:00:00.1 1 kubelet.go:3] "Unable to authenticate the request" err="[invalid bearer token, '
        'Token has been expired]"'
    ),
    "E1121 1 token_manager.go:121] Couldn't update token kube-system/default, retrying in 10s",
    'volumes: [{"name":"v","secret":{"secretName":"tls-cert","defaultMode":420}}]',
    '"volumes":[{"name":"t","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}]}}]',
    '{"name":"HOME","value":"C:\\\\Users\\\\ContainerUser"}',
    '{"name":"TOKEN_FILE","value":"C:\\\\var\\\\run\\\\token"}',
    "    env:\n    - name: NODE_NAME\n      value: win-1\n",
    "secretName: tls-cert\ntokenTTL: 24h0m0s\nserviceAccountName: default",
    "rotateCertificates: true\nauthentication:\n  anonymous:\n    enabled: false\n  webhook:\n    cacheTTL: 0s",
    "--discovery-token-ca-cert-hash sha256:0123 --tls-private-key-file=C:\\pki\\key --token-auth-file C:\\x",
    "bypass-list=localhost;127.0.0.1  compass: north  tests passed: 5 of 5",
    "Name=nat Subnets={172.16.0.0/16} user@example.com time=12:30:45 a=b c:d",
    "net start kubelet\r\nnet use\r\nnet user\r\n",
    "docker run -u 1000:1000 -p 8080:80 --user 65532:65532 image",
    "no password was given; the token has expired; secrets are mounted",
    "[bootstrap-token] Using the existing token (24h)",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "panic: runtime error\n\ngoroutine 1 [running]:\nk8s.io/kubernetes/app.(*secretManager).Get(0xc0001, 0x3)",
    "S-1-5-32-544  BUILTIN\\Administrators",
)
"""Lines without a secret, which are not changed."""
