package keys

import (
	"time"

	"mcphub/internal/reference"
)

func objectOf(keys ...Key) *Spec { return &Spec{Kind: KindObject, Keys: keys} }
func shortObject(key string, keys ...Key) *Spec {
	return &Spec{Kind: KindObject, Short: key, Keys: keys}
}
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

// keyOf makes the key of a value that has no keys of its own: its name, what it must be, and one sentence for docs/config.md.
func keyOf(name string, spec *Spec, text string) Key { return Key{Name: name, Spec: spec, Text: text} }

func requiredKey(k Key) Key {
	k.Required = true
	return k
}

func (k Key) withNote(words string) Key {
	k.Note = words
	return k
}

func guardingKey(k Key) Key {
	k.Guard = true
	return k
}

func (k Key) withDefault(value string) Key {
	k.Def = value
	return k
}

func restartKey(k Key) Key {
	k.Restart = true
	return k
}

func looseKey(k Key) Key {
	k.Loose = true
	return k
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
	keyOf("env", stringValue(CheckVariable), "The variable of the hub's environment that holds it; this or `file`."),
	keyOf("file", placeValue(), "A file that holds it and that no other user can read; this or `env`."),
)

// claimKey names the claim of a token that decides.
var claimKey = requiredKey(keyOf("claim", nameSpec, "The claim, such as `groups`: a text or a list of texts."))

// callLimits bound calls, of a server or of some of its tools.
var callLimits = []Key{
	keyOf("calls", wholeNumber(0, 1_000_000), "Calls under way at a time, of all sessions and processes of the server; `0`: any number. More wait. See [servers.md](servers.md#limits-on-calls).").withNote("no limit"),
	keyOf("queue", wholeNumber(0, 10_000), "Calls that wait if `calls` is set; one more is refused.").withNote("32"),
	keyOf("rate", stringValue(checkRate), "Calls that begin in any second, minute or hour: `10/s`, `60/min`, `1000/h`. One more is refused.").withNote("no limit"),
}

// Table is hub.json: every key, once.
var Table = objectOf(
	Key{Name: "mcpServers", Guard: true, Text: "The child servers by name. A name of other signs than `A-Z a-z 0-9 _ . -` is shortened to these, and `mcphub validate` says how it is called.",
		Spec: &Spec{Kind: KindMap, Elem: Entry}},
	guardingKey(keyOf("sandbox", choiceOf(SandboxOff, SandboxAuto, SandboxRequired), "The `sandbox.mode` of each server with `command` whose entry says none; see [sandbox.md](sandbox.md).")).withDefault(`"`+SandboxDefault+`"`),
	guardingKey(keyOf("changes", choiceOf(ChangesAsk, ChangesRefuse, ChangesWarn), "The `changes` of each server whose entry says none; see [servers.md](servers.md#what-was-accepted).")).withNote("`ask` if there is a hub.lock beside this file, else `warn`"),
	restartKey(keyOf("name", stringValue(notLonger(100)), "The name by which clients know this hub (`serverInfo`).")).withNote("mcphub"),
	restartKey(keyOf("title", stringValue(notLonger(200)), "The title of this hub that clients show.")).withNote("none"),
	keyOf("instructions", stringValue(notLonger(8<<10)), "What clients are told about this hub, before what it says about itself and about its servers.").withNote("none"),
	Key{Name: "names", Text: "How the tools of the children are named.", Spec: objectOf(
		keyOf("separator", stringValue(checkSeparator), "Stands between the name of the server and that of its tool.").withDefault(`"__"`),
		keyOf("max", wholeNumber(16, 128), "Longest tool name offered. Clients put a prefix of their own before it and cut at 60 to 64. If it is at most 64, a `.` or `/` in the name of a tool becomes `_` and the name gets a mark: some models refuse every prompt that has such a tool.").withDefault(`50`),
	)},
	Key{Name: "expose", Text: "Which tools of the children are listed. A plain string is short for `mode`.", Spec: shortObject("mode",
		keyOf("mode", choiceOf("direct", "search", "auto"), "`direct` lists every tool of every child. `search` lists the tools of the hub and of `tools.always`; `find-tools` finds the others, and all can be called. `auto` is `search` if all definitions take more than `tokens`, and `direct` otherwise.").withDefault(`"direct"`),
		keyOf("tokens", wholeNumber(1, 100_000_000), "What `auto` lists at most: tokens of a model's context, at four bytes a token.").withDefault(`20000`),
	)},
	Key{Name: "toolsets", Guard: true, Text: "What sessions see of the servers, by name; see [servers.md](servers.md#toolsets).", Spec: &Spec{Kind: KindMap, Named: checkToolset, Elem: guardingObject(
		keyOf("servers", listOf(nameSpec), "Servers of which it has everything."),
		keyOf("tools", listOf(patternSpec), "Tools of other servers, as patterns of their names, `SERVER__TOOL`: the first separator ends the pattern of servers, and the rest is a pattern of their own names for tools."),
		keyOf("exclude", listOf(patternSpec), "Tools and prompts that it does not have, as such patterns."),
		looseKey(keyOf("instructions", textSpec, "What its clients are told, before what the servers say.")),
		keyOf("selectable", flagSpec, "The file `.mcphub.json` of a project may choose it. See [servers.md](servers.md#a-project-that-chooses).").withDefault("false"),
	)}},
	guardingKey(keyOf("clients", mapOf(notEmpty, someOf(nameSpec)), "Toolsets by the name that a client gives itself. See [servers.md](servers.md#who-has-which-toolset).")),
	guardingKey(keyOf("projects", mapOf(notEmpty, someOf(nameSpec)), "Toolsets by the folder in which, or below which, a client on this machine was started. See [servers.md](servers.md#who-has-which-toolset).")),
	Key{Name: "results", Text: "Results of tools that are too large for a client; see [results.md](results.md).", Spec: objectOf(
		keyOf("max", resultSpec, "The most text that one result brings. Of a larger one the client gets head and tail, and a link to the whole. `\"off\"`: whatever the server sends. Its tools are listed without `outputSchema` if there is such a bound.").withDefault(`"off"`),
	)},
	Key{Name: "attach", Text: "Whether the windows of a user share one hub; see [sharing.md](sharing.md). A plain string is short for `mode`.", Spec: shortObject("mode",
		keyOf("mode", choiceOf(AttachOff, AttachAuto), "`off`: each client that starts `mcphub serve` has a hub of its own. `auto`: it is served by the hub of this file that runs, and the first starts that one. Each has its own roots, environment, questions and servers with a state. Linux only.").withDefault(`"off"`),
		restartKey(keyOf("idle", durationSpan(time.Millisecond, 30*day), "The shared hub ends when no client has been attached for so long.")).withDefault(`"10m"`),
	)},
	Key{Name: "inputs", Text: "What `mcphub secret set` asks for, for each `${input:ID}`.", Spec: listOf(objectOf(
		requiredKey(keyOf("id", secretSpec, "The name of the secret; no two alike.")),
		keyOf("description", textSpec, "What the person is asked for."),
		keyOf("password", flagSpec, "Do not show what is typed.").withDefault(`false`),
		keyOf("type", textSpec, "Has no effect: a line of text is asked for."),
	))},
	Key{Name: "secrets", Text: "Where the values of `${keyring:NAME}` and `${input:ID}` are kept; see [secrets.md](secrets.md).", Spec: objectOf(
		Key{Name: "store", Restart: true, Def: `"keyring"`, Spec: choiceOf(StoreKeyring, StoreFile), Text: "`keyring`: the system's, and a file encrypted by age if there is none. `file`: that file alone."},
		restartKey(keyOf("identity", expandedSpec, "The file of the key of age, which its owner alone can read. `mcphub secret set` makes it.")).withDefault(`""`).withNote("`secrets.identity` beside the encrypted file"),
	)},
	Key{Name: "auth", Text: "How this program logs in at servers, if they say nothing else; see [logins.md](logins.md).", Spec: objectOf(
		keyOf("clientId", expandedString(orNone(checkDocument)), "The https address of a client id metadata document of this program. Authorization servers that take no such document are left to register it, or to `auth.clientId` of the server.").withNote("registered by itself"),
	)},
	Key{Name: "roots", Guard: true, Text: "The directories that clients put in scope.", Spec: rootsTable},
	Key{Name: "policy", Guard: true, Text: "What is decided otherwise than by the boundary.", Spec: policyTable},
	Key{Name: "approval", Text: "How a human is asked.", Spec: objectOf(
		keyOf("timeout", durationSpan(time.Millisecond, day), "How long a question stands before it counts as a no.").withDefault(`"2m"`),
		guardingKey(keyOf("from", someOf(choiceOf(FromClient, FromTerminal, FromConsole)), "Who may answer, all of them at once. `client`: a person behind the client. `terminal`: one at `mcphub approve`. `console`: one on the page of the console. The last two are the hub's user, and on Linux alone: elsewhere a file that names them is refused. See [approval.md](approval.md).")).withNote("`[\"client\"]`"),
		keyOf("local", choiceOf("off", LocalTTY), "`tty` is an older way to write `\"from\": [\"client\", \"terminal\"]`. It has no effect beside `from`.").withDefault(`"off"`),
		keyOf("notify", choiceOf(NotifyAuto, NotifyOff), "`auto`: if `terminal` or `console` may answer, the desktop shows that a question waits, with server and tool. It answers nothing. Linux only.").withDefault(`"auto"`),
	)},
	Key{Name: "audit", Text: "The record of every decision.", Spec: objectOf(
		restartKey(keyOf("dir", expandedSpec, "Where it is kept; `\"off\"` keeps none. `mcphub audit` reads it, docs/audit-format.md describes it.")).withDefault(`""`).withNote("a folder of the XDG state folder"),
		keyOf("required", flagSpec, "Deny what cannot be recorded, instead of going on with a loud warning. The line is written before the call is made either way.").withDefault(`false`),
		keyOf("arguments", flagSpec, "Record the arguments of calls too, not only the paths found in them. What looks like a secret is left out.").withDefault(`false`),
		restartKey(keyOf("stdout", flagSpec, "`serve --http` writes each line to standard output as well, for a collector; see [audit.md](audit.md#for-a-collector). Over stdio it has no effect.")).withDefault(`false`),
		Key{Name: "keep", Text: "How much of it is kept; see [audit.md](audit.md#where-it-is-and-how-long).", Spec: objectOf(
			restartKey(keyOf("age", durationSpan(time.Millisecond, 36500*day), "Files whose lines are all older are removed. `90d` is a duration, too.")).withNote("all"),
			restartKey(keyOf("size", sizeSpan(1<<20, 0), "The oldest files are removed while all take more. The file that a hub writes to and the one before it stay, 64 MiB each.")).withNote("all"),
		)},
		Key{Name: "syslog", Guard: true, Text: "Send each line to a collector as well; see [audit.md](audit.md#syslog).", Spec: guardingObject(
			restartKey(keyOf("address", expandedString(orNone(checkCollector)), "`tcp://HOST:PORT` or `tls://HOST:PORT` of a collector that takes syslog (RFC 5424).")).withDefault(`""`).withNote("nowhere"),
			restartKey(keyOf("ca", expandedSpec, "File with the authorities that vouch for a collector by TLS.")).withDefault(`""`).withNote("those of the system"),
		)},
	)},
	Key{Name: "logs", Text: "What the children write to stderr, in a file for each.", Spec: objectOf(
		restartKey(keyOf("dir", expandedSpec, "Where the files are; `\"off\"` keeps none. They are bounded, and readable by their owner only.")).withDefault(`""`).withNote("a folder of the XDG state folder"),
	)},
	Key{Name: "metrics", Guard: true, Text: "What the hub counts, for Prometheus; see [metrics.md](metrics.md).", Spec: guardingObject(
		restartKey(keyOf("listen", expandedString(orNone(checkListen)), "Address that serves `/metrics`, such as `127.0.0.1:9464`. One that other machines reach needs `token`. Where another hub has it already, a hub over stdio goes on without.")).withDefault(`""`).withNote("nowhere"),
		Key{Name: "token", Restart: true, Note: "none", Text: "The bearer token that who asks has to show.", Spec: secretPlace},
		looseKey(restartKey(keyOf("hosts", listOf(nameSpec), "More names by which it may be asked (the Host header)."))),
		looseKey(restartKey(keyOf("principals", flagSpec, "Name the principal, too: the token or `NAME@ISSUER`. Histograms do not."))).withDefault(`false`),
	)},
	Key{Name: "http", Guard: true, Text: "The Streamable HTTP front.", Spec: httpTable},
	Key{Name: "limits", Text: "What the hub holds at most.", Spec: objectOf(
		restartKey(keyOf("frame", sizeSpan(64<<10, 1<<30), "One message.")).withDefault(`"64MiB"`),
		restartKey(keyOf("id", sizeSpan(64, 1<<20), "The id of one request. One with a longer id is refused, and the error says so.")).withDefault(`"1KiB"`),
		keyOf("definitions", sizeSpan(64<<10, 1<<30), "What one server defines of each kind: its tools, prompts, resources, resource templates. The rest is not offered; the log, `mcphub status` and `list-tools` name it. (A list also ends after 1,000 pages, 20,000 entries or 256 MiB.)").withDefault(`"64MiB"`),
		restartKey(keyOf("sessions", wholeNumber(1, 1_000_000), "Sessions at a time.")).withDefault(`1000`),
		restartKey(keyOf("calls", wholeNumber(1, 1_000_000), "Calls under way at a time.")).withDefault(`256`),
		restartKey(keyOf("children", wholeNumber(1, 100_000), "Child processes and connections at a time. Beyond it the hub stops the one that has been idle longest and belongs to no session. If there is none, the call fails with the reason.")).withDefault(`256`),
		Key{Name: "principal", Text: "What one principal may take of it: whoever `http.tokens` or `http.issuers` name. The user of this machine alone is not held to it. See [http.md](http.md#fair-shares).", Spec: objectOf(
			restartKey(keyOf("sessions", wholeNumber(1, 1_000_000), "Sessions at a time.")).withNote("three quarters of `limits.sessions` if there may be others"),
			restartKey(keyOf("calls", wholeNumber(1, 1_000_000), "Calls under way at a time, of all its sessions. More wait, four times as many at most.")).withNote("`limits.calls`"),
			keyOf("children", wholeNumber(1, 100_000), "Child processes and connections at a time that serve nobody else.").withNote("three quarters of `limits.children` if there may be others"),
			restartKey(keyOf("rate", wholeNumber(1, 1_000_000), "Calls a second that go on to servers, and other messages that do. See [http.md](http.md#fair-shares).")).withNote("no limit"),
			restartKey(keyOf("burst", wholeNumber(1, 1_000_000), "Of them at once, after a pause.")).withNote("`rate`"),
		)},
		restartKey(keyOf("starting", wholeNumber(1, 1000), "Children starting at the same time.")).withDefault(`8`),
		keyOf("depth", wholeNumber(8, 10_000), "Nesting of a call's arguments.").withDefault(`128`),
	)},
)

// Entry is the table of one entry of mcpServers.
var Entry = objectOf(
	keyOf("builtin", choiceOf(BuiltinFiles), "A server that is part of mcphub: `files`, a filesystem server that opens every path inside the roots."),
	keyOf("command", commandSpec, "The program to start; one name or path, not a shell line."),
	keyOf("args", listOf(argSpec), "Its arguments."),
	keyOf("env", mapOf(CheckVariable, envSpec), "Variables of its environment; a number or a boolean counts as its text, `null` as not there."),
	keyOf("envFile", &Spec{Kind: KindString, Expand: ExpandLater, Valid: notEmpty}, "A file with more variables, `NAME=value` on each line, read when the server starts; `env` counts for more. Relative to the folder of this file. One that lies in a root, or where a server may write, needs `local`."),
	keyOf("inherit", listOf(stringValue(CheckVariable)), "More variables of the hub's own environment that it receives."),
	keyOf("cwd", &Spec{Kind: KindString, Expand: ExpandLater, Valid: notEmpty}, "Its working directory.").withNote("the first root that exists"),
	keyOf("local", flagSpec, "Let programs and settings come from the working directory, programs from folders of PATH inside a root, and `envFile` from a root.").withDefault(`false`),
	keyOf("url", UrlSpec, "The address of a server on the network, http or https."),
	keyOf("headers", mapOf(checkHeader, headerSpec), "HTTP headers sent to it."),
	Key{Name: "headersFrom", Guard: true, Note: "none", Text: "A program of yours that prints more headers, as a JSON object of strings, such as a token that ends. It runs as you, held to nothing, and never from a folder in which servers may write; see [servers.md](servers.md#headers-of-a-program).", Spec: guardingObject(
		keyOf("command", commandSpec, "The program; one name or path, not a shell line. A path starts at the folder of this file."),
		keyOf("args", listOf(expandedSpec), "Its arguments. Paths in them are absolute."),
		looseKey(keyOf("ttl", durationSpan(time.Millisecond, 30*day), "How long its headers hold. They are renewed before, once, if the server answers 401.")).withNote("10m"),
	)},
	Key{Name: "auth", Note: "found out as the server asks", Text: "How to log in at a server with `url` that asks for OAuth; see [logins.md](logins.md). Without it `mcphub auth login NAME` works all the same, if the server lets programs register themselves.", Spec: objectOf(
		keyOf("clientId", expandedSpec, "The client that was registered at the authorization server for this program, or the https address of a client id metadata document.").withNote("registered by itself"),
		keyOf("clientSecret", &Spec{Kind: KindString, Expand: ExpandNow, Secrets: true}, "Its secret, or its private key in PEM: a reference such as `${keyring:NAME}`."),
		keyOf("scopes", listOf(nameSpec), "What the login is to be good for.").withNote("those that the server asks for"),
		keyOf("issuer", expandedString(orNone(checkIssuer)), "The authorization server, if the server names several. Its address may be a private one, which needs this key: one on another port of this machine too.").withNote("the first that the server names"),
		keyOf("flow", choiceOf(FlowBrowser, FlowDevice, FlowClient, FlowExchange), "`browser`: on this machine. `device`: by a code, on any device. `client`: the client logs in itself, and no person is asked. `exchange`: the server is called with a token in exchange for each HTTP caller's own ([logins.md](logins.md#a-token-in-exchange)).").withNote("browser"),
		keyOf("redirectHost", choiceOf(RedirectIP, RedirectName), "The host of the redirect, at which the browser comes back to this machine, as the registration of the client has it. `oauth` with a `callbackPort`, as Claude Code writes it, means `localhost`. A `redirectUri` is split into these keys.").withNote(RedirectIP),
		keyOf("redirectPath", stringValue(orNone(checkRedirectPath)), "The path of the redirect. `\"\"`: none.").withNote(RedirectPath),
		keyOf("callbackPort", wholeNumber(1, 65535), "The port of the redirect, if the registration of the client names one: the redirect is `http://127.0.0.1:PORT/callback`, with the host and the path above.").withNote("any that is free"),
	)},
	Key{Name: "tls", Guard: true, Note: "what the system trusts", Text: "How a server with an https `url` is known, and what it is shown; see [servers.md](servers.md#certificates). It is about this server alone. Paths start at the folder of this file. A file that is renewed in its place counts for the next connection.", Spec: guardingObject(
		keyOf("ca", placeValue(), "A file of certificates in PEM whose owners are trusted beside the authorities of the system, for the server and for what it logs in at."),
		keyOf("cert", placeValue(), "The file of a certificate in PEM that is shown to the server alone, with those between it and its authority."),
		keyOf("key", placeValue(), "The file of its key in PEM, which no other user should be able to read."),
		keyOf("pin", &Spec{Kind: KindList, Single: true, Min: 1, Elem: expandedString(checkPin)}, "`sha256/` and the SHA-256 of the server's public key in base64, or several of which one must fit, beside a certificate that is trusted."),
	)},
	keyOf("type", choiceOf(TransportStdio, TransportHTTP, TransportSSE), "The transport.").withNote("stdio for command; for url HTTP, then SSE"),
	guardingKey(keyOf("roots", &Spec{Kind: KindList, Single: true, Min: 1, Elem: placeValue()}, "How it learns the roots: `args` puts them in the place of its directory arguments, `list` answers when it asks, `none` tells it nothing. Or a list of directories of its own, such as `[\"~/Documents\"]`: it is served these, and its calls are judged by these, whatever roots its clients give. Relative ones start at the folder of this file. Patterns too: see [roots.md](roots.md#directories-of-one-server).")).withNote("recognised, else list"),
	Key{Name: "paths", Guard: true, Text: "How paths are found in the arguments of its tools.", Spec: guardingObject(
		keyOf("mode", choiceOf("strict", "declared", "off"), "`strict` looks everywhere, `declared` only where arguments are declared and at file URIs, `off` nowhere.").withNote("strict for a process or a loopback url, else declared"),
		Key{Name: "args", Text: "What single arguments are: by tool (`*` for all), then by JSON pointer with `*` for any one step.",
			Spec: &Spec{Kind: KindMap, Named: checkToolName, Elem: &Spec{Kind: KindMap, Named: checkPointer, Elem: &Spec{
				Kind: KindObject, Closed: true, Short: "role", Keys: []Key{
					guardingKey(requiredKey(keyOf("role", choiceOf("read", "write", "delete", "none"), "What is done to the path; `none`: it is no path. A plain string is short for an object with only this."))),
					keyOf("base", pointerSpec, "JSON pointer of the argument that a relative path starts from."),
				}}}}},
	)},
	guardingKey(keyOf("arguments", choiceOf("lenient", "strict", "off"), "How arguments are held against the schemas of its tools. `strict`: they must fit. `lenient`: they may also fit once they are read as many servers read them; see [servers.md](servers.md#arguments). `off`: that is the server's business, and its arguments are searched for paths as if there were no schema.")).withDefault(`"lenient"`),
	keyOf("prefix", stringValue(checkPrefix), "What its tools' names begin with; `\"\"` offers them as they are, as far as `names.max` goes.").withNote("name and separator"),
	guardingKey(keyOf("changes", choiceOf(ChangesAsk, ChangesRefuse, ChangesWarn), "What becomes of its tools that have grown since hub.lock was written. `ask`: they are withheld until you accept them. `refuse`: they are withheld. `warn`: they are offered, and the log names them.")).withNote("the top key `changes`"),
	Key{Name: "tools", Guard: true, Text: "Which of its tools are offered, and how. A plain list is short for `include`.", Spec: &Spec{Kind: KindObject, Closed: true, Short: "include", Keys: []Key{
		guardingKey(keyOf("include", someOf(patternSpec), "Patterns of tools to offer (`*` any text, `?` one character).")).withNote("all"),
		guardingKey(keyOf("exclude", listOf(patternSpec), "Patterns of tools to hold back, also from `call-tool`; stronger than `include`.")),
		keyOf("always", listOf(patternSpec), "Patterns of tools that are listed also if `expose` lists no others; of those that `include` and `exclude` leave."),
		keyOf("rename", mapOf(checkToolName, stringValue(checkShownName)), "What clients know as the tool's own name, by the server's own name. Rules, the record and all other keys go by the latter. See [servers.md](servers.md#names-and-words-of-your-own)."),
		keyOf("describe", mapOf(checkToolName, nameSpec), "The description of a tool, instead of the server's."),
		guardingKey(keyOf("set", &Spec{Kind: KindMap, Named: checkToolName, Elem: &Spec{Kind: KindMap, Named: checkPointer, Elem: &Spec{Kind: KindJSON}}}, "Arguments with a fixed value: by tool, then by JSON pointer. Clients do not see them, and a call that gives one is refused. No variable is replaced in a value.")),
	}}},
	keyOf("share", choiceOf("session", "roots", "all"), "Who shares one process: nobody, sessions with exactly the same roots (names and order included), or everybody. A process for everybody is served only the configured roots, and held to them. Where several clients share one hub of their user, the default is `roots` for [servers that keep nothing](servers.md#sharing).").withNote("session"),
	keyOf("start", choiceOf("lazy", "eager"), "When it starts: with its session (`eager`), or when it is first called. A lazy server whose tools are not known yet (the first time, or after a change of its entry or program) starts at once; `mcphub warm` finds them out before.").withDefault(`"lazy"`),
	keyOf("era", choiceOf("auto", "legacy", "modern"), "The era of the protocol it is spoken to in: `legacy` has the handshake (up to 2025-11-25), `modern` has none (2026-07-28). `auto` takes the era of the client if the server has it, else the other one; see [protocol.md](protocol.md#servers-without-a-handshake).").withDefault(`"auto"`),
	keyOf("protocol", choiceOf("", ModernProtocol, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"), "The one protocol version that is proposed to it, which settles `era` as well; `\"\"`: the newest of its era, and older ones if it refuses that. See [protocol.md](protocol.md#versions).").withNote("negotiated"),
	Key{Name: "timeout", Text: "How long things may take. A bare number or duration instead of the object: per call.", Spec: shortObject("call",
		keyOf("start", durationSpan(time.Millisecond, day), "Until it has started and listed its tools. `go run` and `cargo run` compile a program at each start.").withNote("60s; 5m if it is compiled at each start"),
		keyOf("call", durationSpan(time.Millisecond, day), "One call. Progress starts it again, and it stands still while the server asks the client something.").withDefault(`"10m"`),
		keyOf("idle", durationSpan(0, 365*day), "Stop it after so long without a call; `0`: never.").withNote("never for a session's own process, 15m for shared ones and over HTTP"),
		keyOf("stop", durationSpan(time.Millisecond, time.Hour), "The whole way from closing its input to killing it.").withDefault(`"2500ms"`),
	)},
	Key{Name: "sandbox", Guard: true, Text: "What the kernel holds its process to; see [sandbox.md](sandbox.md). A plain string is short for `mode`.", Spec: &Spec{Kind: KindObject, Closed: true, Short: "mode", Keys: []Key{
		guardingKey(keyOf("mode", choiceOf(SandboxOff, SandboxAuto, SandboxRequired), "`auto`: as far as the system can, and what it cannot is said. `required`: it does not start where the system cannot. `off`: it opens what its user may.")).withNote("the top key `sandbox`; `off` for `builtin`"),
		guardingKey(keyOf("read", listOf(placeValue()), "Paths that it may read beside the boundary; relative ones start at the folder of this file.")),
		guardingKey(keyOf("write", listOf(placeValue()), "Paths that it may read and write beside the boundary.")),
		guardingKey(keyOf("network", &Spec{Kind: KindPorts, Choices: []string{"on", "off"}, Elem: wholeNumber(1, 65535), Min: 1}, "`off`, or the TCP ports that it may use; UDP is not held to ports.")).withDefault(`"on"`),
		guardingKey(keyOf("sockets", choiceOf("on", "off"), "Unix sockets. `on`: it can reach D-Bus, docker and ssh-agent, and through them everything.")).withNote("off, but for browsers"),
		keyOf("widen", choiceOf("restart", "refuse"), "What happens when the boundary becomes wider: a running process can only be held to less, so it is started again, or stays as it is.").withNote("restart, but for servers that are known to keep state: refuse"),
	}}},
	Key{Name: "limits", Guard: true, Text: "What all its processes together may take, and how many calls it gets. Beyond `memory` or `processes` the server is ended, and started again like any that fails; see [servers.md](servers.md#limits).", Spec: guardingObject(append([]Key{
		keyOf("memory", sizeSpan(1<<20, 0), "Memory, such as `1GiB`.").withNote("half of the machine's or none: see [servers.md](servers.md#limits)"),
		keyOf("processes", wholeNumber(1, 1_000_000), "Processes and threads: a server of node has about 12 by itself.").withNote("4096 or none: likewise"),
		{Name: "tools", Text: "The three for some of its calls, by pattern of the server's own tool names, or of methods such as `resources/read`. They count beside those of the server.", Spec: mapOf(checkPattern, guardingObject(callLimits...))},
	}, callLimits...)...)},
	Key{Name: "results", Text: "Results of its tools that are too large for a client; see [results.md](results.md).", Spec: objectOf(
		keyOf("max", resultSpec, "The most text that one result brings; `\"off\"`: whatever the server sends.").withNote("that of the top key `results`"),
	)},
	guardingKey(keyOf("disabled", flagSpec, "Leave it out.")).withDefault(`false`),
)

var rootsTable = objectOf(
	keyOf("timeout", durationSpan(time.Millisecond, time.Hour), "How long a client may take to list its roots; all waiting of one call together.").withDefault(`"10s"`),
	keyOf("debounce", &Spec{Kind: KindDuration, Max: int64(time.Minute), Millis: true}, "Quiet time after a change before the client is asked again. A bare number is milliseconds, however small.").withDefault(`"250ms"`),
	keyOf("stale", durationSpan(time.Millisecond, 30*day), "How long roots hold that could not be refreshed.").withDefault(`"10m"`),
	Key{Name: "fallback", Text: "Roots for clients that give none: paths, or objects with path and name. Relative ones start at `MCPHUB_PROJECT_ROOT`, else at the folder of this file. Patterns too: see [roots.md](roots.md).",
		Spec: &Spec{Kind: KindList, Skip: true, Elem: shortObject("path",
			requiredKey(keyOf("path", placeValue(), "The directory or file, or a pattern of directories.")),
			keyOf("name", nameSpec, "What it is called."),
		)}},
	guardingKey(keyOf("map", mapOf(checkRemote, placeValue()), "Which directories here the roots of remote workspaces mean, by the beginning of their URI, such as `vscode-remote://ssh-remote+host/home/me`. The longest that fits counts. Relative ones start at the folder of this file. See [roots.md](roots.md#remote-workspaces).")),
	Key{Name: "when", Guard: true, Text: "What holds for paths if no boundary is known.", Spec: guardingObject(
		keyOf("unsupported", choiceOf(WhenProject, WhenAllow, WhenDeny), "The client cannot give roots, and there is no fallback. `project`: a client over stdio has the project that its working directory lies in. Without a project, and over HTTP, every path is allowed. See [roots.md](roots.md#clients-without-roots).").withDefault(`"`+WhenProject+`"`),
		keyOf("empty", allowSpec, "The client answered that it has none.").withDefault(`"deny"`),
		keyOf("failed", allowSpec, "The client did not answer, or nothing it named could be used, and there is no fallback.").withDefault(`"deny"`),
	)},
	guardingKey(keyOf("resources", listOf(expandedString(checkResource)), "Prefixes of URIs, such as `https://api.example.com/v1/`. If there is one of a scheme, tools and resources/read may name URIs of that scheme at or below one only; other schemes stay as they are. See [policy.md](policy.md#beyond-files).")),
	guardingKey(keyOf("clientResources", flagSpec, "Let the client's own roots of other schemes than `file` count among `resources`.")).withDefault(`false`),
)

var policyTable = guardingObject(
	keyOf("sandbox", placeValue(), "A directory that is always inside the boundary: a real one of the hub's own user, in which nobody else may write. See [policy.md](policy.md)."),
	keyOf("protected", listOf(placeValue()), "Paths that no rule and no root opens; relative ones start at the folder of this file. They need not exist."),
	Key{Name: "rules", Text: "Asked in order; each path takes the first that matches, the call the strictest of its paths.", Spec: listOf(guardingObject(
		looseKey(keyOf("name", nameSpec, "Stands in the audit and in refusals; no two alike.")).withNote("rule N"),
		requiredKey(keyOf("then", choiceOf(ThenAllow, ThenDeny, ThenEscalate), "`escalate` asks a human.")),
		looseKey(keyOf("serve", flagSpec, "Serve the directory of an `escalate` rule to the children from the start, and not only once a person has allowed it.")).withDefault(`false`),
		Key{Name: "if", Note: "always", Text: "All that is given must match.", Spec: guardingObject(
			keyOf("principals", someOf(patternSpec), "Patterns of whom the session belongs to: the name of a token, `NAME@ISSUER`, or `local`, the user of this machine. See [policy.md](policy.md#rules-for-some-people).").withNote("any"),
			keyOf("groups", someOf(patternSpec), "Patterns of groups; the principal is in one of them: `groups` of its token, or of the claim that its issuer's `groups` names.").withNote("any"),
			keyOf("servers", someOf(patternSpec), "Patterns of server names.").withNote("any"),
			keyOf("tools", someOf(patternSpec), "Patterns of the children's own tool names, without the hub's prefix; for other requests their method (`resources/read`).").withNote("any"),
			Key{Name: "paths", Note: "any", Text: "Which paths; left out, calls without a path too.", Spec: guardingObject(
				keyOf("roles", someOf(choiceOf("read", "write", "delete")), "What is done to them.").withNote("any"),
				keyOf("within", placeValue(), "The directory that they lie in; relative ones start at the folder of this file. It need not exist."),
				keyOf("outside", flagSpec, "Only those outside the boundary.").withDefault(`false`),
			)},
		)},
	))},
)

var httpTable = objectOf(
	restartKey(keyOf("listen", expandedString(checkListen), "Address to listen on; port 0 picks one.")).withDefault(`"127.0.0.1:0"`),
	guardingKey(keyOf("auth", choiceOf(AuthToken, AuthNone), "`token`: a client shows a bearer token: one of `tokens` or of `issuers`, and if there is neither, the one that the hub makes. `none`: whoever reaches the address may call, with roots of its own choice: every user and process of this machine, the servers of hubs as well; only on loopback, and not with `tokens` or `issuers`. See [http.md](http.md#who-may-call).")).withDefault(`"token"`),
	keyOf("hosts", listOf(nameSpec), "More names by which clients may call it (the Host header)."),
	keyOf("origins", listOf(nameSpec), "Web pages that may call it (the Origin header)."),
	keyOf("trustedProxies", listOf(stringValue(checkNetwork)), "Addresses and networks (`10.0.0.0/8`) of reverse proxies whose `X-Forwarded-For` or `Forwarded` tells where a request comes from, for the record and the log. Nothing is decided by it. See [http.md](http.md#what-is-refused)."),
	keyOf("peers", listOf(stringValue(checkPeer)), "Addresses of the other hubs of the same `stateKey` (`http://hub-1:8765`). A hub forwards what is for a session of another one, so that a balancer may send each request to any of them. A name stands for all addresses that it has, so the name of a headless service is enough. See [team.md](team.md#a-balancer-that-takes-turns)."),
	keyOf("idle", durationSpan(time.Millisecond, 365*day), "A session ends when it has had no connection and no request for this time. One that is idle ends earlier if another principal would be refused.").withDefault(`"30m"`),
	keyOf("poll", durationSpan(0, day), "End the connection of a request after this time, and let the client come back for the rest (2025-11-25). For proxies that end long connections; `0`: never.").withDefault(`"0s"`),
	keyOf("drain", durationSpan(0, time.Hour), "After TERM the hub serves on for so long, while `/readyz` says that it stops and no session opens: whoever spreads clients among hubs finds that out meanwhile. See [http.md](http.md#stopping-it).").withDefault(`"5s"`),
	keyOf("grace", durationSpan(0, day), "How long calls under way may take after that. What is left then is ended, and its client told.").withDefault(`"20s"`),
	Key{Name: "stateKey", Guard: true, Note: "a random one", Text: "The key that seals `requestState` (protocol version 2026-07-28), or several: the first seals, all open. Hubs with the same key take each other's, so that a client may reach any of them. A line of 32 characters or more, such as `openssl rand -base64 32` prints. See [http.md](http.md#changing-who-may-call).", Spec: &Spec{Kind: KindList, Single: true, Min: 1, Elem: secretPlace}},
	restartKey(keyOf("node", stringValue(checkNode), "The name of this hub among several of one `stateKey`, each with its own. It is sealed into session ids: another hub that gets such a session answers 404, and the header `Mcphub-Node` with that name. See [team.md](team.md#several-hubs).")).withNote("the name of this machine"),
	Key{Name: "tls", Guard: true, Note: "plain HTTP", Text: "Serve HTTPS. A certificate that is renewed in its place counts within a second, without a reload.", Spec: guardingObject(
		keyOf("cert", placeValue(), "The file of the certificate, with those between it and its authority, as PEM."),
		keyOf("key", placeValue(), "The file of its key, as PEM, which no other user can read."),
	)},
	Key{Name: "tokens", Guard: true, Note: "one that the hub makes", Text: "Who may call, by bearer token.", Spec: listOf(guardingObject(
		looseKey(requiredKey(keyOf("name", stringValue(checkTokenName), "Whose it is; no two alike, and neither `local` nor `nobody`."))),
		keyOf("env", stringValue(CheckVariable), "The variable of the hub's environment that holds the token; this or `file`."),
		keyOf("file", placeValue(), "A file that holds the token and that no other user can read; this or `env`."),
		keyOf("groups", someOf(stringValue(checkGroup)), "Groups that it belongs to, for `if.groups` of rules."),
		keyOf("roots", someOf(placeValue()), "Directories that its client never leaves, whatever else allows it. Patterns too: see [roots.md](roots.md).").withNote("no ceiling"),
		keyOf("toolsets", someOf(nameSpec), "Toolsets that its client may have, and no others. See [servers.md](servers.md#toolsets).").withNote("any"),
	))},
	Key{Name: "when", Guard: true, Text: "What holds for the clients of `tokens` and `issuers` if no boundary is known.", Spec: guardingObject(
		keyOf("noRoots", allowSpec, "Neither the client nor its token names roots, and there is no fallback. `deny`: no path is open to it. `allow`: `roots.when` decides, so that by default every path is. See [http.md](http.md#directories-of-a-token).").withDefault(`"deny"`),
	)},
	guardingKey(keyOf("resource", EndpointSpec, "The address of this hub as clients know it, such as `https://hub.example/mcp`; needed with `issuers`. See [http.md](http.md#tokens-of-an-authorization-server).")).withNote("none"),
	Key{Name: "issuers", Guard: true, Text: "Authorization servers whose access tokens (JWT) count beside `tokens`.", Spec: listOf(guardingObject(
		requiredKey(keyOf("issuer", stringValue(checkIssuer), "What it calls itself: the claim `iss`, to the byte.")),
		keyOf("audience", nameSpec, "What the claim `aud` must name.").withNote("`http.resource`"),
		keyOf("principal", nameSpec, "The claim that says whose the token is.").withDefault(`"sub"`),
		keyOf("groups", nameSpec, "The claim that names the groups of a client, for `if.groups` of rules: a text or a list of texts.").withNote("none counts"),
		keyOf("scopes", someOf(nameSpec), "Scopes that a token must have, all of them."),
		Key{Name: "roots", Note: "no ceiling", Text: "Directories that a client never leaves, by what its token says.", Spec: guardingObject(
			claimKey,
			requiredKey(keyOf("values", mapOf(notEmpty, someOf(placeValue())), "Directories for each value. A token with several values has all of theirs, one with none of them no directory at all. Patterns too: see [roots.md](roots.md).")),
		)},
		Key{Name: "toolsets", Note: "any", Text: "Toolsets that a client may have, by what its token says. See [servers.md](servers.md#toolsets).", Spec: guardingObject(
			claimKey,
			requiredKey(keyOf("values", mapOf(notEmpty, someOf(nameSpec)), "Toolsets for each value. A token with several values may have all of theirs, one with none of them no toolset at all: it is refused.")),
		)},
		Key{Name: "login", Note: "the hub registers itself", Text: "The client by which a person shows the hub in a browser who they are, before they log in at a server. See [logins.md](logins.md#over-http).", Spec: guardingObject(
			requiredKey(keyOf("clientId", nameSpec, "What you have registered, with the redirect `https://hub.example/login/proved`.")),
			keyOf("env", stringValue(CheckVariable), "The variable of the hub's environment that holds its secret; this, `file` or neither."),
			keyOf("file", placeValue(), "A file that holds its secret and that no other user can read; this, `env` or neither."),
		)},
	))},
)
