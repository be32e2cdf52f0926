package keys

import (
	"time"

	"mcphub/internal/reference"
)

func objectOf(keys ...Key) *Spec       { return &Spec{Kind: KindObject, Keys: keys} }
func choiceOf(of ...string) *Spec      { return &Spec{Kind: KindChoice, Choices: of} }
func listOf(elem *Spec) *Spec          { return &Spec{Kind: KindList, Elem: elem} }
func someOf(elem *Spec) *Spec          { return &Spec{Kind: KindList, Elem: elem, Min: 1} }
func wholeNumber(min, max int64) *Spec { return &Spec{Kind: KindInt, Min: min, Max: max} }
func durationSpan(min, max time.Duration) *Spec {
	return &Spec{Kind: KindDuration, Min: int64(min), Max: int64(max)}
}
func stringValue(valid func(string) string) *Spec { return &Spec{Kind: KindString, Valid: valid} }
func expandedString(valid func(string) string) *Spec {
	return &Spec{Kind: KindString, Expand: ExpandNow, Valid: valid}
}
func placeValue() *Spec             { return expandedString(notEmpty) }
func sizeSpan(min, max int64) *Spec { return &Spec{Kind: KindSize, Min: min, Max: max} }
func mapOf(named func(string) string, elem *Spec) *Spec {
	return &Spec{Kind: KindMap, Named: named, Elem: elem}
}

// guardingObject is an object of which each key guards, unless it is loose.
func guardingObject(keys ...Key) *Spec {
	for i := range keys {
		keys[i].Guard = !keys[i].Loose
	}
	return &Spec{Kind: KindObject, Keys: keys, Closed: true}
}

const day = 24 * time.Hour

var (
	flagSpec     = &Spec{Kind: KindBool}
	allowSpec    = &Spec{Kind: KindAllow}
	textSpec     = &Spec{Kind: KindString}
	expandedSpec = expandedString(nil)
	nameSpec     = stringValue(notEmpty)
	patternSpec  = stringValue(checkPattern)
	pointerSpec  = stringValue(checkPointer)
	argSpec      = &Spec{Kind: KindString, Expand: ExpandLater, Secrets: true}
	envSpec      = &Spec{Kind: KindScalar, Expand: ExpandLater, Secrets: true}
	headerSpec   = &Spec{Kind: KindScalar, Expand: ExpandNow, Secrets: true, Valid: noBreak}
	UrlSpec      = &Spec{Kind: KindString, Expand: ExpandNow, Secrets: true, Valid: notEmpty}
	EndpointSpec = expandedString(checkEndpoint)
	secretSpec   = stringValue(reference.CheckName)
	resultSpec   = &Spec{Kind: KindSize, Choices: []string{"off"}, Min: 1 << 10, Max: 64 << 20}
	commandSpec  = expandedString(notEmpty)
)

// secretPlace is where the hub reads a secret of its own.
var secretPlace = guardingObject(
	Key{Name: "env", Spec: stringValue(CheckVariable), Text: "The variable of the hub's environment that holds it; this or `file`."},
	Key{Name: "file", Spec: placeValue(), Text: "A file that holds it and that no other user can read; this or `env`."},
)

// claimKey names the claim of a token that decides.
var claimKey = Key{Name: "claim", Required: true, Spec: nameSpec, Text: "The claim, such as `groups`: a text or a list of texts."}

// callLimits bound calls, of a server or of some of its tools.
var callLimits = []Key{
	{Name: "calls", Note: "no limit", Spec: wholeNumber(0, 1_000_000), Text: "Calls under way at a time, of all sessions and processes of the server; `0`: any number. More wait. See [servers.md](servers.md#limits-on-calls)."},
	{Name: "queue", Note: "32", Spec: wholeNumber(0, 10_000), Text: "Calls that wait if `calls` is set; one more is refused."},
	{Name: "rate", Note: "no limit", Spec: stringValue(checkRate), Text: "Calls that begin in any second, minute or hour: `10/s`, `60/min`, `1000/h`. One more is refused."},
}

// Table is hub.json: every key, once.
var Table = objectOf(
	Key{Name: "mcpServers", Guard: true, Text: "The child servers by name. A name of other signs than `A-Z a-z 0-9 _ . -` is shortened to these, and `mcphub validate` says how it is called.",
		Spec: &Spec{Kind: KindMap, Elem: Entry}},
	Key{Name: "sandbox", Guard: true, Def: `"` + SandboxDefault + `"`, Spec: choiceOf(SandboxOff, SandboxAuto, SandboxRequired), Text: "The `sandbox.mode` of each server with `command` whose entry says none; see [sandbox.md](sandbox.md)."},
	Key{Name: "changes", Guard: true, Note: "`ask` if there is a hub.lock beside this file, else `warn`", Spec: choiceOf(ChangesAsk, ChangesRefuse, ChangesWarn), Text: "The `changes` of each server whose entry says none; see [servers.md](servers.md#what-was-accepted)."},
	Key{Name: "name", Restart: true, Note: "mcphub", Spec: stringValue(notLonger(100)), Text: "The name by which clients know this hub (`serverInfo`)."},
	Key{Name: "title", Restart: true, Note: "none", Spec: stringValue(notLonger(200)), Text: "The title of this hub that clients show."},
	Key{Name: "instructions", Note: "none", Spec: stringValue(notLonger(8 << 10)), Text: "What clients are told about this hub, before what it says about itself and about its servers."},
	Key{Name: "names", Text: "How the tools of the children are named.", Spec: objectOf(
		Key{Name: "separator", Def: `"__"`, Spec: stringValue(checkSeparator), Text: "Stands between the name of the server and that of its tool."},
		Key{Name: "max", Def: `50`, Spec: wholeNumber(16, 128), Text: "Longest tool name offered. Clients put a prefix of their own before it and cut at 60 to 64. If it is at most 64, a `.` or `/` in the name of a tool becomes `_` and the name gets a mark: some models refuse every prompt that has such a tool."},
	)},
	Key{Name: "expose", Text: "Which tools of the children are listed. A plain string is short for `mode`.", Spec: &Spec{Kind: KindObject, Short: "mode", Keys: []Key{
		{Name: "mode", Def: `"direct"`, Spec: choiceOf("direct", "search", "auto"),
			Text: "`direct` lists every tool of every child. `search` lists the tools of the hub and of `tools.always`; `find-tools` finds the others, and all can be called. `auto` is `search` if all definitions take more than `tokens`, and `direct` otherwise."},
		{Name: "tokens", Def: `20000`, Spec: wholeNumber(1, 100_000_000), Text: "What `auto` lists at most: tokens of a model's context, at four bytes a token."},
	}}},
	Key{Name: "toolsets", Guard: true, Text: "What sessions see of the servers, by name; see [servers.md](servers.md#toolsets).", Spec: &Spec{Kind: KindMap, Named: checkToolset, Elem: guardingObject(
		Key{Name: "servers", Spec: listOf(nameSpec), Text: "Servers of which it has everything."},
		Key{Name: "tools", Spec: listOf(patternSpec), Text: "Tools of other servers, as patterns of their names, `SERVER__TOOL`: the first separator ends the pattern of servers, and the rest is a pattern of their own names for tools."},
		Key{Name: "exclude", Spec: listOf(patternSpec), Text: "Tools and prompts that it does not have, as such patterns."},
		Key{Name: "instructions", Loose: true, Spec: textSpec, Text: "What its clients are told, before what the servers say."},
		Key{Name: "selectable", Def: "false", Spec: flagSpec, Text: "The file `.mcphub.json` of a project may choose it. See [servers.md](servers.md#a-project-that-chooses)."},
	)}},
	Key{Name: "clients", Guard: true, Text: "Toolsets by the name that a client gives itself. See [servers.md](servers.md#who-has-which-toolset).", Spec: mapOf(notEmpty, someOf(nameSpec))},
	Key{Name: "projects", Guard: true, Text: "Toolsets by the folder in which, or below which, a client on this machine was started. See [servers.md](servers.md#who-has-which-toolset).", Spec: mapOf(notEmpty, someOf(nameSpec))},
	Key{Name: "results", Text: "Results of tools that are too large for a client; see [results.md](results.md).", Spec: objectOf(
		Key{Name: "max", Def: `"off"`, Spec: resultSpec, Text: "The most text that one result brings. Of a larger one the client gets head and tail, and a link to the whole. `\"off\"`: whatever the server sends. Its tools are listed without `outputSchema` if there is such a bound."},
	)},
	Key{Name: "attach", Text: "Whether the windows of a user share one hub; see [sharing.md](sharing.md). A plain string is short for `mode`.", Spec: &Spec{Kind: KindObject, Short: "mode", Keys: []Key{
		{Name: "mode", Def: `"off"`, Spec: choiceOf(AttachOff, AttachAuto),
			Text: "`off`: each client that starts `mcphub serve` has a hub of its own. `auto`: it is served by the hub of this file that runs, and the first starts that one. Each has its own roots, environment, questions and servers with a state. Linux only."},
		{Name: "idle", Restart: true, Def: `"10m"`, Spec: durationSpan(time.Millisecond, 30*day), Text: "The shared hub ends when no client has been attached for so long."},
	}}},
	Key{Name: "inputs", Text: "What `mcphub secret set` asks for, for each `${input:ID}`.", Spec: listOf(objectOf(
		Key{Name: "id", Required: true, Spec: secretSpec, Text: "The name of the secret; no two alike."},
		Key{Name: "description", Spec: textSpec, Text: "What the person is asked for."},
		Key{Name: "password", Def: `false`, Spec: flagSpec, Text: "Do not show what is typed."},
		Key{Name: "type", Spec: textSpec, Text: "Has no effect: a line of text is asked for."},
	))},
	Key{Name: "secrets", Text: "Where the values of `${keyring:NAME}` and `${input:ID}` are kept; see [secrets.md](secrets.md).", Spec: objectOf(
		Key{Name: "store", Restart: true, Def: `"keyring"`, Spec: choiceOf(StoreKeyring, StoreFile), Text: "`keyring`: the system's, and a file encrypted by age if there is none. `file`: that file alone."},
		Key{Name: "identity", Restart: true, Def: `""`, Note: "`secrets.identity` beside the encrypted file", Spec: expandedSpec, Text: "The file of the key of age, which its owner alone can read. `mcphub secret set` makes it."},
	)},
	Key{Name: "auth", Text: "How this program logs in at servers, if they say nothing else; see [logins.md](logins.md).", Spec: objectOf(
		Key{Name: "clientId", Note: "registered by itself", Spec: expandedString(orNone(checkDocument)), Text: "The https address of a client id metadata document of this program. Authorization servers that take no such document are left to register it, or to `auth.clientId` of the server."},
	)},
	Key{Name: "roots", Guard: true, Text: "The directories that clients put in scope.", Spec: rootsTable},
	Key{Name: "policy", Guard: true, Text: "What is decided otherwise than by the boundary.", Spec: policyTable},
	Key{Name: "approval", Text: "How a human is asked.", Spec: objectOf(
		Key{Name: "timeout", Def: `"2m"`, Spec: durationSpan(time.Millisecond, day), Text: "How long a question stands before it counts as a no."},
		Key{Name: "from", Guard: true, Note: "`[\"client\"]`", Spec: someOf(choiceOf(FromClient, FromTerminal, FromConsole)), Text: "Who may answer, all of them at once. `client`: a person behind the client. `terminal`: one at `mcphub approve`. `console`: one on the page of the console. The last two are the hub's user, and on Linux alone: elsewhere a file that names them is refused. See [approval.md](approval.md)."},
		Key{Name: "local", Def: `"off"`, Spec: choiceOf("off", LocalTTY), Text: "`tty` is an older way to write `\"from\": [\"client\", \"terminal\"]`. It has no effect beside `from`."},
		Key{Name: "notify", Def: `"auto"`, Spec: choiceOf(NotifyAuto, NotifyOff), Text: "`auto`: if `terminal` or `console` may answer, the desktop shows that a question waits, with server and tool. It answers nothing. Linux only."},
	)},
	Key{Name: "audit", Text: "The record of every decision.", Spec: objectOf(
		Key{Name: "dir", Restart: true, Def: `""`, Note: "a folder of the XDG state folder", Spec: expandedSpec,
			Text: "Where it is kept; `\"off\"` keeps none. `mcphub audit` reads it, docs/audit-format.md describes it."},
		Key{Name: "required", Def: `false`, Spec: flagSpec, Text: "Deny what cannot be recorded, instead of going on with a loud warning. The line is written before the call is made either way."},
		Key{Name: "arguments", Def: `false`, Spec: flagSpec, Text: "Record the arguments of calls too, not only the paths found in them. What looks like a secret is left out."},
		Key{Name: "stdout", Restart: true, Def: `false`, Spec: flagSpec, Text: "`serve --http` writes each line to standard output as well, for a collector; see [audit.md](audit.md#for-a-collector). Over stdio it has no effect."},
		Key{Name: "keep", Text: "How much of it is kept; see [audit.md](audit.md#where-it-is-and-how-long).", Spec: objectOf(
			Key{Name: "age", Restart: true, Note: "all", Spec: durationSpan(time.Millisecond, 36500*day), Text: "Files whose lines are all older are removed. `90d` is a duration, too."},
			Key{Name: "size", Restart: true, Note: "all", Spec: sizeSpan(1<<20, 0), Text: "The oldest files are removed while all take more. The file that a hub writes to and the one before it stay, 64 MiB each."},
		)},
		Key{Name: "syslog", Guard: true, Text: "Send each line to a collector as well; see [audit.md](audit.md#syslog).", Spec: guardingObject(
			Key{Name: "address", Restart: true, Def: `""`, Note: "nowhere", Spec: expandedString(orNone(checkCollector)), Text: "`tcp://HOST:PORT` or `tls://HOST:PORT` of a collector that takes syslog (RFC 5424)."},
			Key{Name: "ca", Restart: true, Def: `""`, Note: "those of the system", Spec: expandedSpec, Text: "File with the authorities that vouch for a collector by TLS."},
		)},
	)},
	Key{Name: "logs", Text: "What the children write to stderr, in a file for each.", Spec: objectOf(
		Key{Name: "dir", Restart: true, Def: `""`, Note: "a folder of the XDG state folder", Spec: expandedSpec,
			Text: "Where the files are; `\"off\"` keeps none. They are bounded, and readable by their owner only."},
	)},
	Key{Name: "metrics", Guard: true, Text: "What the hub counts, for Prometheus; see [metrics.md](metrics.md).", Spec: guardingObject(
		Key{Name: "listen", Restart: true, Def: `""`, Note: "nowhere", Spec: expandedString(orNone(checkListen)), Text: "Address that serves `/metrics`, such as `127.0.0.1:9464`. One that other machines reach needs `token`. Where another hub has it already, a hub over stdio goes on without."},
		Key{Name: "token", Restart: true, Note: "none", Text: "The bearer token that who asks has to show.", Spec: secretPlace},
		Key{Name: "hosts", Loose: true, Restart: true, Spec: listOf(nameSpec), Text: "More names by which it may be asked (the Host header)."},
		Key{Name: "principals", Loose: true, Restart: true, Def: `false`, Spec: flagSpec, Text: "Name the principal, too: the token or `NAME@ISSUER`. Histograms do not."},
	)},
	Key{Name: "http", Guard: true, Text: "The Streamable HTTP front.", Spec: httpTable},
	Key{Name: "limits", Text: "What the hub holds at most.", Spec: objectOf(
		Key{Name: "frame", Restart: true, Def: `"64MiB"`, Spec: sizeSpan(64<<10, 1<<30), Text: "One message."},
		Key{Name: "id", Restart: true, Def: `"1KiB"`, Spec: sizeSpan(64, 1<<20), Text: "The id of one request. One with a longer id is refused, and the error says so."},
		Key{Name: "definitions", Def: `"64MiB"`, Spec: sizeSpan(64<<10, 1<<30), Text: "What one server defines of each kind: its tools, prompts, resources, resource templates. The rest is not offered; the log, `mcphub status` and `list-tools` name it. (A list also ends after 1,000 pages, 20,000 entries or 256 MiB.)"},
		Key{Name: "sessions", Restart: true, Def: `1000`, Spec: wholeNumber(1, 1_000_000), Text: "Sessions at a time."},
		Key{Name: "calls", Restart: true, Def: `256`, Spec: wholeNumber(1, 1_000_000), Text: "Calls under way at a time."},
		Key{Name: "children", Restart: true, Def: `256`, Spec: wholeNumber(1, 100_000), Text: "Child processes and connections at a time. Beyond it the hub stops the one that has been idle longest and belongs to no session. If there is none, the call fails with the reason."},
		Key{Name: "principal", Text: "What one principal may take of it: whoever `http.tokens` or `http.issuers` name. The user of this machine alone is not held to it. See [http.md](http.md#fair-shares).", Spec: objectOf(
			Key{Name: "sessions", Restart: true, Note: "three quarters of `limits.sessions` if there may be others", Spec: wholeNumber(1, 1_000_000), Text: "Sessions at a time."},
			Key{Name: "calls", Restart: true, Note: "`limits.calls`", Spec: wholeNumber(1, 1_000_000), Text: "Calls under way at a time, of all its sessions. More wait, four times as many at most."},
			Key{Name: "children", Note: "three quarters of `limits.children` if there may be others", Spec: wholeNumber(1, 100_000), Text: "Child processes and connections at a time that serve nobody else."},
			Key{Name: "rate", Restart: true, Note: "no limit", Spec: wholeNumber(1, 1_000_000), Text: "Calls a second that go on to servers, and other messages that do. See [http.md](http.md#fair-shares)."},
			Key{Name: "burst", Restart: true, Note: "`rate`", Spec: wholeNumber(1, 1_000_000), Text: "Of them at once, after a pause."},
		)},
		Key{Name: "starting", Restart: true, Def: `8`, Spec: wholeNumber(1, 1000), Text: "Children starting at the same time."},
		Key{Name: "depth", Def: `128`, Spec: wholeNumber(8, 10_000), Text: "Nesting of a call's arguments."},
	)},
)

// Entry is the table of one entry of mcpServers.
var Entry = objectOf(
	Key{Name: "builtin", Spec: choiceOf(BuiltinFiles), Text: "A server that is part of mcphub: `files`, a filesystem server that opens every path inside the roots."},
	Key{Name: "command", Spec: commandSpec, Text: "The program to start; one name or path, not a shell line."},
	Key{Name: "args", Spec: listOf(argSpec), Text: "Its arguments."},
	Key{Name: "env", Spec: mapOf(CheckVariable, envSpec), Text: "Variables of its environment; a number or a boolean counts as its text, `null` as not there."},
	Key{Name: "envFile", Spec: &Spec{Kind: KindString, Expand: ExpandLater, Valid: notEmpty}, Text: "A file with more variables, `NAME=value` on each line, read when the server starts; `env` counts for more. Relative to the folder of this file. One that lies in a root, or where a server may write, needs `local`."},
	Key{Name: "inherit", Spec: listOf(stringValue(CheckVariable)), Text: "More variables of the hub's own environment that it receives."},
	Key{Name: "cwd", Note: "the first root that exists", Spec: &Spec{Kind: KindString, Expand: ExpandLater, Valid: notEmpty}, Text: "Its working directory."},
	Key{Name: "local", Def: `false`, Spec: flagSpec, Text: "Let programs and settings come from the working directory, programs from folders of PATH inside a root, and `envFile` from a root."},
	Key{Name: "url", Spec: UrlSpec, Text: "The address of a server on the network, http or https."},
	Key{Name: "headers", Spec: mapOf(checkHeader, headerSpec), Text: "HTTP headers sent to it."},
	Key{Name: "headersFrom", Guard: true, Note: "none", Text: "A program of yours that prints more headers, as a JSON object of strings, such as a token that ends. It runs as you, held to nothing, and never from a folder in which servers may write; see [servers.md](servers.md#headers-of-a-program).", Spec: guardingObject(
		Key{Name: "command", Spec: commandSpec, Text: "The program; one name or path, not a shell line. A path starts at the folder of this file."},
		Key{Name: "args", Spec: listOf(expandedSpec), Text: "Its arguments. Paths in them are absolute."},
		Key{Name: "ttl", Loose: true, Note: "10m", Spec: durationSpan(time.Millisecond, 30*day), Text: "How long its headers hold. They are renewed before, once, if the server answers 401."},
	)},
	Key{Name: "auth", Note: "found out as the server asks", Text: "How to log in at a server with `url` that asks for OAuth; see [logins.md](logins.md). Without it `mcphub auth login NAME` works all the same, if the server lets programs register themselves.", Spec: objectOf(
		Key{Name: "clientId", Note: "registered by itself", Spec: expandedSpec, Text: "The client that was registered at the authorization server for this program, or the https address of a client id metadata document."},
		Key{Name: "clientSecret", Spec: &Spec{Kind: KindString, Expand: ExpandNow, Secrets: true}, Text: "Its secret, or its private key in PEM: a reference such as `${keyring:NAME}`."},
		Key{Name: "scopes", Note: "those that the server asks for", Spec: listOf(nameSpec), Text: "What the login is to be good for."},
		Key{Name: "issuer", Note: "the first that the server names", Spec: expandedString(orNone(checkIssuer)), Text: "The authorization server, if the server names several. Its address may be a private one, which needs this key: one on another port of this machine too."},
		Key{Name: "flow", Note: "browser", Spec: choiceOf(FlowBrowser, FlowDevice, FlowClient, FlowExchange), Text: "`browser`: on this machine. `device`: by a code, on any device. `client`: the client logs in itself, and no person is asked. `exchange`: the server is called with a token in exchange for each HTTP caller's own ([logins.md](logins.md#a-token-in-exchange))."},
		Key{Name: "redirectHost", Note: RedirectIP, Spec: choiceOf(RedirectIP, RedirectName), Text: "The host of the redirect, at which the browser comes back to this machine, as the registration of the client has it. `oauth` with a `callbackPort`, as Claude Code writes it, means `localhost`. A `redirectUri` is split into these keys."},
		Key{Name: "redirectPath", Note: RedirectPath, Spec: stringValue(orNone(checkRedirectPath)), Text: "The path of the redirect. `\"\"`: none."},
		Key{Name: "callbackPort", Note: "any that is free", Spec: wholeNumber(1, 65535), Text: "The port of the redirect, if the registration of the client names one: the redirect is `http://127.0.0.1:PORT/callback`, with the host and the path above."},
	)},
	Key{Name: "tls", Guard: true, Note: "what the system trusts", Text: "How a server with an https `url` is known, and what it is shown; see [servers.md](servers.md#certificates). It is about this server alone. Paths start at the folder of this file. A file that is renewed in its place counts for the next connection.", Spec: guardingObject(
		Key{Name: "ca", Spec: placeValue(), Text: "A file of certificates in PEM whose owners are trusted beside the authorities of the system, for the server and for what it logs in at."},
		Key{Name: "cert", Spec: placeValue(), Text: "The file of a certificate in PEM that is shown to the server alone, with those between it and its authority."},
		Key{Name: "key", Spec: placeValue(), Text: "The file of its key in PEM, which no other user should be able to read."},
		Key{Name: "pin", Text: "`sha256/` and the SHA-256 of the server's public key in base64, or several of which one must fit, beside a certificate that is trusted.",
			Spec: &Spec{Kind: KindList, Single: true, Min: 1, Elem: expandedString(checkPin)}},
	)},
	Key{Name: "type", Note: "stdio for command; for url HTTP, then SSE", Spec: choiceOf(TransportStdio, TransportHTTP, TransportSSE), Text: "The transport."},
	Key{Name: "roots", Guard: true, Note: "recognised, else list", Spec: &Spec{Kind: KindList, Single: true, Min: 1, Elem: placeValue()},
		Text: "How it learns the roots: `args` puts them in the place of its directory arguments, `list` answers when it asks, `none` tells it nothing. Or a list of directories of its own, such as `[\"~/Documents\"]`: it is served these, and its calls are judged by these, whatever roots its clients give. Relative ones start at the folder of this file. Patterns too: see [roots.md](roots.md#directories-of-one-server)."},
	Key{Name: "paths", Guard: true, Text: "How paths are found in the arguments of its tools.", Spec: guardingObject(
		Key{Name: "mode", Note: "strict for a process or a loopback url, else declared", Spec: choiceOf("strict", "declared", "off"),
			Text: "`strict` looks everywhere, `declared` only where arguments are declared and at file URIs, `off` nowhere."},
		Key{Name: "args", Text: "What single arguments are: by tool (`*` for all), then by JSON pointer with `*` for any one step.",
			Spec: &Spec{Kind: KindMap, Named: checkToolName, Elem: &Spec{Kind: KindMap, Named: checkPointer, Elem: &Spec{
				Kind: KindObject, Closed: true, Short: "role", Keys: []Key{
					{Name: "role", Guard: true, Required: true, Spec: choiceOf("read", "write", "delete", "none"), Text: "What is done to the path; `none`: it is no path. A plain string is short for an object with only this."},
					{Name: "base", Spec: pointerSpec, Text: "JSON pointer of the argument that a relative path starts from."},
				}}}}},
	)},
	Key{Name: "arguments", Guard: true, Def: `"lenient"`, Spec: choiceOf("lenient", "strict", "off"),
		Text: "How arguments are held against the schemas of its tools. `strict`: they must fit. `lenient`: they may also fit once they are read as many servers read them; see [servers.md](servers.md#arguments). `off`: that is the server's business, and its arguments are searched for paths as if there were no schema."},
	Key{Name: "prefix", Note: "name and separator", Spec: stringValue(checkPrefix), Text: "What its tools' names begin with; `\"\"` offers them as they are, as far as `names.max` goes."},
	Key{Name: "changes", Guard: true, Note: "the top key `changes`", Spec: choiceOf(ChangesAsk, ChangesRefuse, ChangesWarn), Text: "What becomes of its tools that have grown since hub.lock was written. `ask`: they are withheld until you accept them. `refuse`: they are withheld. `warn`: they are offered, and the log names them."},
	Key{Name: "tools", Guard: true, Text: "Which of its tools are offered, and how. A plain list is short for `include`.", Spec: &Spec{Kind: KindObject, Closed: true, Short: "include", Keys: []Key{
		{Name: "include", Guard: true, Note: "all", Spec: someOf(patternSpec), Text: "Patterns of tools to offer (`*` any text, `?` one character)."},
		{Name: "exclude", Guard: true, Spec: listOf(patternSpec), Text: "Patterns of tools to hold back, also from `call-tool`; stronger than `include`."},
		{Name: "always", Spec: listOf(patternSpec), Text: "Patterns of tools that are listed also if `expose` lists no others; of those that `include` and `exclude` leave."},
		{Name: "rename", Spec: mapOf(checkToolName, stringValue(checkShownName)), Text: "What clients know as the tool's own name, by the server's own name. Rules, the record and all other keys go by the latter. See [servers.md](servers.md#names-and-words-of-your-own)."},
		{Name: "describe", Spec: mapOf(checkToolName, nameSpec), Text: "The description of a tool, instead of the server's."},
		{Name: "set", Guard: true, Spec: &Spec{Kind: KindMap, Named: checkToolName, Elem: &Spec{Kind: KindMap, Named: checkPointer, Elem: &Spec{Kind: KindJSON}}}, Text: "Arguments with a fixed value: by tool, then by JSON pointer. Clients do not see them, and a call that gives one is refused. No variable is replaced in a value."},
	}}},
	Key{Name: "share", Note: "session", Spec: choiceOf("session", "roots", "all"), Text: "Who shares one process: nobody, sessions with exactly the same roots (names and order included), or everybody. A process for everybody is served only the configured roots, and held to them. Where several clients share one hub of their user, the default is `roots` for [servers that keep nothing](servers.md#sharing)."},
	Key{Name: "start", Def: `"lazy"`, Spec: choiceOf("lazy", "eager"), Text: "When it starts: with its session (`eager`), or when it is first called. A lazy server whose tools are not known yet (the first time, or after a change of its entry or program) starts at once; `mcphub warm` finds them out before."},
	Key{Name: "era", Def: `"auto"`, Spec: choiceOf("auto", "legacy", "modern"), Text: "The era of the protocol it is spoken to in: `legacy` has the handshake (up to 2025-11-25), `modern` has none (2026-07-28). `auto` takes the era of the client if the server has it, else the other one; see [protocol.md](protocol.md#servers-without-a-handshake)."},
	Key{Name: "protocol", Note: "negotiated", Spec: choiceOf("", ModernProtocol, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"), Text: "The one protocol version that is proposed to it, which settles `era` as well; `\"\"`: the newest of its era, and older ones if it refuses that. See [protocol.md](protocol.md#versions)."},
	Key{Name: "timeout", Text: "How long things may take. A bare number or duration instead of the object: per call.", Spec: &Spec{Kind: KindObject, Short: "call", Keys: []Key{
		{Name: "start", Note: "60s; 5m if it is compiled at each start", Spec: durationSpan(time.Millisecond, day), Text: "Until it has started and listed its tools. `go run` and `cargo run` compile a program at each start."},
		{Name: "call", Def: `"10m"`, Spec: durationSpan(time.Millisecond, day), Text: "One call. Progress starts it again, and it stands still while the server asks the client something."},
		{Name: "idle", Note: "never for a session's own process, 15m for shared ones and over HTTP", Spec: durationSpan(0, 365*day), Text: "Stop it after so long without a call; `0`: never."},
		{Name: "stop", Def: `"2500ms"`, Spec: durationSpan(time.Millisecond, time.Hour), Text: "The whole way from closing its input to killing it."},
	}}},
	Key{Name: "sandbox", Guard: true, Text: "What the kernel holds its process to; see [sandbox.md](sandbox.md). A plain string is short for `mode`.", Spec: &Spec{Kind: KindObject, Closed: true, Short: "mode", Keys: []Key{
		{Name: "mode", Guard: true, Note: "the top key `sandbox`; `off` for `builtin`", Spec: choiceOf(SandboxOff, SandboxAuto, SandboxRequired), Text: "`auto`: as far as the system can, and what it cannot is said. `required`: it does not start where the system cannot. `off`: it opens what its user may."},
		{Name: "read", Guard: true, Spec: listOf(placeValue()), Text: "Paths that it may read beside the boundary; relative ones start at the folder of this file."},
		{Name: "write", Guard: true, Spec: listOf(placeValue()), Text: "Paths that it may read and write beside the boundary."},
		{Name: "network", Guard: true, Def: `"on"`, Spec: &Spec{Kind: KindPorts, Choices: []string{"on", "off"}, Elem: wholeNumber(1, 65535), Min: 1}, Text: "`off`, or the TCP ports that it may use; UDP is not held to ports."},
		{Name: "sockets", Guard: true, Note: "off, but for browsers", Spec: choiceOf("on", "off"), Text: "Unix sockets. `on`: it can reach D-Bus, docker and ssh-agent, and through them everything."},
		{Name: "widen", Note: "restart, but for servers that are known to keep state: refuse", Spec: choiceOf("restart", "refuse"), Text: "What happens when the boundary becomes wider: a running process can only be held to less, so it is started again, or stays as it is."},
	}}},
	Key{Name: "limits", Guard: true, Text: "What all its processes together may take, and how many calls it gets. Beyond `memory` or `processes` the server is ended, and started again like any that fails; see [servers.md](servers.md#limits).", Spec: guardingObject(append([]Key{
		{Name: "memory", Note: "half of the machine's or none: see [servers.md](servers.md#limits)", Spec: sizeSpan(1<<20, 0), Text: "Memory, such as `1GiB`."},
		{Name: "processes", Note: "4096 or none: likewise", Spec: wholeNumber(1, 1_000_000), Text: "Processes and threads: a server of node has about 12 by itself."},
		{Name: "tools", Text: "The three for some of its calls, by pattern of the server's own tool names, or of methods such as `resources/read`. They count beside those of the server.", Spec: mapOf(checkPattern, guardingObject(callLimits...))},
	}, callLimits...)...)},
	Key{Name: "results", Text: "Results of its tools that are too large for a client; see [results.md](results.md).", Spec: objectOf(
		Key{Name: "max", Note: "that of the top key `results`", Spec: resultSpec, Text: "The most text that one result brings; `\"off\"`: whatever the server sends."},
	)},
	Key{Name: "disabled", Guard: true, Def: `false`, Spec: flagSpec, Text: "Leave it out."},
)

var rootsTable = objectOf(
	Key{Name: "timeout", Def: `"10s"`, Spec: durationSpan(time.Millisecond, time.Hour), Text: "How long a client may take to list its roots; all waiting of one call together."},
	Key{Name: "debounce", Def: `"250ms"`, Spec: &Spec{Kind: KindDuration, Max: int64(time.Minute), Millis: true}, Text: "Quiet time after a change before the client is asked again. A bare number is milliseconds, however small."},
	Key{Name: "stale", Def: `"10m"`, Spec: durationSpan(time.Millisecond, 30*day), Text: "How long roots hold that could not be refreshed."},
	Key{Name: "fallback", Text: "Roots for clients that give none: paths, or objects with path and name. Relative ones start at `MCPHUB_PROJECT_ROOT`, else at the folder of this file. Patterns too: see [roots.md](roots.md).",
		Spec: &Spec{Kind: KindList, Skip: true, Elem: &Spec{Kind: KindObject, Short: "path", Keys: []Key{
			{Name: "path", Required: true, Spec: placeValue(), Text: "The directory or file, or a pattern of directories."},
			{Name: "name", Spec: nameSpec, Text: "What it is called."},
		}}}},
	Key{Name: "map", Guard: true, Text: "Which directories here the roots of remote workspaces mean, by the beginning of their URI, such as `vscode-remote://ssh-remote+host/home/me`. The longest that fits counts. Relative ones start at the folder of this file. See [roots.md](roots.md#remote-workspaces).",
		Spec: mapOf(checkRemote, placeValue())},
	Key{Name: "when", Guard: true, Text: "What holds for paths if no boundary is known.", Spec: guardingObject(
		Key{Name: "unsupported", Def: `"` + WhenProject + `"`, Spec: choiceOf(WhenProject, WhenAllow, WhenDeny), Text: "The client cannot give roots, and there is no fallback. `project`: a client over stdio has the project that its working directory lies in. Without a project, and over HTTP, every path is allowed. See [roots.md](roots.md#clients-without-roots)."},
		Key{Name: "empty", Def: `"deny"`, Spec: allowSpec, Text: "The client answered that it has none."},
		Key{Name: "failed", Def: `"deny"`, Spec: allowSpec, Text: "The client did not answer, or nothing it named could be used, and there is no fallback."},
	)},
	Key{Name: "resources", Guard: true, Spec: listOf(expandedString(checkResource)),
		Text: "Prefixes of URIs, such as `https://api.example.com/v1/`. If there is one of a scheme, tools and resources/read may name URIs of that scheme at or below one only; other schemes stay as they are. See [policy.md](policy.md#beyond-files)."},
	Key{Name: "clientResources", Guard: true, Def: `false`, Spec: flagSpec, Text: "Let the client's own roots of other schemes than `file` count among `resources`."},
)

var policyTable = guardingObject(
	Key{Name: "sandbox", Spec: placeValue(), Text: "A directory that is always inside the boundary: a real one of the hub's own user, in which nobody else may write. See [policy.md](policy.md)."},
	Key{Name: "protected", Spec: listOf(placeValue()), Text: "Paths that no rule and no root opens; relative ones start at the folder of this file. They need not exist."},
	Key{Name: "rules", Text: "Asked in order; each path takes the first that matches, the call the strictest of its paths.", Spec: listOf(guardingObject(
		Key{Name: "name", Loose: true, Note: "rule N", Spec: nameSpec, Text: "Stands in the audit and in refusals; no two alike."},
		Key{Name: "then", Required: true, Spec: choiceOf(ThenAllow, ThenDeny, ThenEscalate), Text: "`escalate` asks a human."},
		Key{Name: "serve", Loose: true, Def: `false`, Spec: flagSpec, Text: "Serve the directory of an `escalate` rule to the children from the start, and not only once a person has allowed it."},
		Key{Name: "if", Note: "always", Text: "All that is given must match.", Spec: guardingObject(
			Key{Name: "principals", Note: "any", Spec: someOf(patternSpec), Text: "Patterns of whom the session belongs to: the name of a token, `NAME@ISSUER`, or `local`, the user of this machine. See [policy.md](policy.md#rules-for-some-people)."},
			Key{Name: "groups", Note: "any", Spec: someOf(patternSpec), Text: "Patterns of groups; the principal is in one of them: `groups` of its token, or of the claim that its issuer's `groups` names."},
			Key{Name: "servers", Note: "any", Spec: someOf(patternSpec), Text: "Patterns of server names."},
			Key{Name: "tools", Note: "any", Spec: someOf(patternSpec), Text: "Patterns of the children's own tool names, without the hub's prefix; for other requests their method (`resources/read`)."},
			Key{Name: "paths", Note: "any", Text: "Which paths; left out, calls without a path too.", Spec: guardingObject(
				Key{Name: "roles", Note: "any", Spec: someOf(choiceOf("read", "write", "delete")), Text: "What is done to them."},
				Key{Name: "within", Spec: placeValue(), Text: "The directory that they lie in; relative ones start at the folder of this file. It need not exist."},
				Key{Name: "outside", Def: `false`, Spec: flagSpec, Text: "Only those outside the boundary."},
			)},
		)},
	))},
)

var httpTable = objectOf(
	Key{Name: "listen", Restart: true, Def: `"127.0.0.1:0"`, Spec: expandedString(checkListen), Text: "Address to listen on; port 0 picks one."},
	Key{Name: "auth", Guard: true, Def: `"token"`, Spec: choiceOf(AuthToken, AuthNone), Text: "`token`: a client shows a bearer token: one of `tokens` or of `issuers`, and if there is neither, the one that the hub makes. `none`: whoever reaches the address may call, with roots of its own choice: every user and process of this machine, the servers of hubs as well; only on loopback, and not with `tokens` or `issuers`. See [http.md](http.md#who-may-call)."},
	Key{Name: "hosts", Spec: listOf(nameSpec), Text: "More names by which clients may call it (the Host header)."},
	Key{Name: "origins", Spec: listOf(nameSpec), Text: "Web pages that may call it (the Origin header)."},
	Key{Name: "trustedProxies", Spec: listOf(stringValue(checkNetwork)), Text: "Addresses and networks (`10.0.0.0/8`) of reverse proxies whose `X-Forwarded-For` or `Forwarded` tells where a request comes from, for the record and the log. Nothing is decided by it. See [http.md](http.md#what-is-refused)."},
	Key{Name: "peers", Spec: listOf(stringValue(checkPeer)), Text: "Addresses of the other hubs of the same `stateKey` (`http://hub-1:8765`). A hub forwards what is for a session of another one, so that a balancer may send each request to any of them. A name stands for all addresses that it has, so the name of a headless service is enough. See [team.md](team.md#a-balancer-that-takes-turns)."},
	Key{Name: "idle", Def: `"30m"`, Spec: durationSpan(time.Millisecond, 365*day), Text: "A session ends when it has had no connection and no request for this time. One that is idle ends earlier if another principal would be refused."},
	Key{Name: "poll", Def: `"0s"`, Spec: durationSpan(0, day), Text: "End the connection of a request after this time, and let the client come back for the rest (2025-11-25). For proxies that end long connections; `0`: never."},
	Key{Name: "drain", Def: `"5s"`, Spec: durationSpan(0, time.Hour), Text: "After TERM the hub serves on for so long, while `/readyz` says that it stops and no session opens: whoever spreads clients among hubs finds that out meanwhile. See [http.md](http.md#stopping-it)."},
	Key{Name: "grace", Def: `"20s"`, Spec: durationSpan(0, day), Text: "How long calls under way may take after that. What is left then is ended, and its client told."},
	Key{Name: "stateKey", Guard: true, Note: "a random one", Text: "The key that seals `requestState` (protocol version 2026-07-28), or several: the first seals, all open. Hubs with the same key take each other's, so that a client may reach any of them. A line of 32 characters or more, such as `openssl rand -base64 32` prints. See [http.md](http.md#changing-who-may-call).", Spec: &Spec{Kind: KindList, Single: true, Min: 1, Elem: secretPlace}},
	Key{Name: "node", Restart: true, Note: "the name of this machine", Spec: stringValue(checkNode), Text: "The name of this hub among several of one `stateKey`, each with its own. It is sealed into session ids: another hub that gets such a session answers 404, and the header `Mcphub-Node` with that name. See [team.md](team.md#several-hubs)."},
	Key{Name: "tls", Guard: true, Note: "plain HTTP", Text: "Serve HTTPS. A certificate that is renewed in its place counts within a second, without a reload.", Spec: guardingObject(
		Key{Name: "cert", Spec: placeValue(), Text: "The file of the certificate, with those between it and its authority, as PEM."},
		Key{Name: "key", Spec: placeValue(), Text: "The file of its key, as PEM, which no other user can read."},
	)},
	Key{Name: "tokens", Guard: true, Note: "one that the hub makes", Text: "Who may call, by bearer token.", Spec: listOf(guardingObject(
		Key{Name: "name", Loose: true, Required: true, Spec: stringValue(checkTokenName), Text: "Whose it is; no two alike, and neither `local` nor `nobody`."},
		Key{Name: "env", Spec: stringValue(CheckVariable), Text: "The variable of the hub's environment that holds the token; this or `file`."},
		Key{Name: "file", Spec: placeValue(), Text: "A file that holds the token and that no other user can read; this or `env`."},
		Key{Name: "groups", Spec: someOf(stringValue(checkGroup)), Text: "Groups that it belongs to, for `if.groups` of rules."},
		Key{Name: "roots", Note: "no ceiling", Spec: someOf(placeValue()), Text: "Directories that its client never leaves, whatever else allows it. Patterns too: see [roots.md](roots.md)."},
		Key{Name: "toolsets", Note: "any", Spec: someOf(nameSpec), Text: "Toolsets that its client may have, and no others. See [servers.md](servers.md#toolsets)."},
	))},
	Key{Name: "when", Guard: true, Text: "What holds for the clients of `tokens` and `issuers` if no boundary is known.", Spec: guardingObject(
		Key{Name: "noRoots", Def: `"deny"`, Spec: allowSpec, Text: "Neither the client nor its token names roots, and there is no fallback. `deny`: no path is open to it. `allow`: `roots.when` decides, so that by default every path is. See [http.md](http.md#directories-of-a-token)."},
	)},
	Key{Name: "resource", Guard: true, Note: "none", Spec: EndpointSpec, Text: "The address of this hub as clients know it, such as `https://hub.example/mcp`; needed with `issuers`. See [http.md](http.md#tokens-of-an-authorization-server)."},
	Key{Name: "issuers", Guard: true, Text: "Authorization servers whose access tokens (JWT) count beside `tokens`.", Spec: listOf(guardingObject(
		Key{Name: "issuer", Required: true, Spec: stringValue(checkIssuer), Text: "What it calls itself: the claim `iss`, to the byte."},
		Key{Name: "audience", Note: "`http.resource`", Spec: nameSpec, Text: "What the claim `aud` must name."},
		Key{Name: "principal", Def: `"sub"`, Spec: nameSpec, Text: "The claim that says whose the token is."},
		Key{Name: "groups", Note: "none counts", Spec: nameSpec, Text: "The claim that names the groups of a client, for `if.groups` of rules: a text or a list of texts."},
		Key{Name: "scopes", Spec: someOf(nameSpec), Text: "Scopes that a token must have, all of them."},
		Key{Name: "roots", Note: "no ceiling", Text: "Directories that a client never leaves, by what its token says.", Spec: guardingObject(
			claimKey,
			Key{Name: "values", Required: true, Text: "Directories for each value. A token with several values has all of theirs, one with none of them no directory at all. Patterns too: see [roots.md](roots.md).",
				Spec: mapOf(notEmpty, someOf(placeValue()))},
		)},
		Key{Name: "toolsets", Note: "any", Text: "Toolsets that a client may have, by what its token says. See [servers.md](servers.md#toolsets).", Spec: guardingObject(
			claimKey,
			Key{Name: "values", Required: true, Text: "Toolsets for each value. A token with several values may have all of theirs, one with none of them no toolset at all: it is refused.",
				Spec: mapOf(notEmpty, someOf(nameSpec))},
		)},
		Key{Name: "login", Note: "the hub registers itself", Text: "The client by which a person shows the hub in a browser who they are, before they log in at a server. See [logins.md](logins.md#over-http).", Spec: guardingObject(
			Key{Name: "clientId", Required: true, Spec: nameSpec, Text: "What you have registered, with the redirect `https://hub.example/login/proved`."},
			Key{Name: "env", Spec: stringValue(CheckVariable), Text: "The variable of the hub's environment that holds its secret; this, `file` or neither."},
			Key{Name: "file", Spec: placeValue(), Text: "A file that holds its secret and that no other user can read; this, `env` or neither."},
		)},
	))},
)
