package config

import (
	"time"

	"mcphub/internal/reference"
)

// kind says what a value must be and what it becomes.
type kind uint8

const (
	kindObject   kind = iota + 1 // fixed keys
	kindMap                      // any names, all values alike
	kindList                     //
	kindString                   //
	kindScalar                   // string, number, true or false; becomes a string. null drops the key
	kindBool                     //
	kindInt                      // whole number; becomes int
	kindDuration                 // "10s" or a bare number, see duration; becomes time.Duration
	kindSize                     // "64MiB" or bytes; becomes int64
	kindChoice                   // one of a few strings
	kindAllow                    // "allow" or "deny"; becomes bool
	kindPorts                    // one of a few strings, or a list of TCP ports; becomes Network
)

// spec describes one value. Which fields mean anything depends on kind.
type spec struct {
	kind    kind
	keys    []key               // object
	elem    *spec               // map, list, ports
	choices []string            // choice, ports
	min     int64               // int; duration in ns; size in bytes; list: number of elements
	max     int64               // the same; 0 = none
	valid   func(string) string // string: what is wrong with it, or ""
	named   func(string) string // map: what is wrong with a name, or ""
	short   string              // object: a plain value stands for an object with only this key
	expand  expansion           // string, scalar: what is replaced in it
	secrets bool                // string, scalar: references to secrets may stand in it
	closed  bool                // object: an unknown key is an error, since dropping it could open something
	skip    bool                // list: an element whose variable is not set is dropped with a warning
	millis  bool                // duration: a bare number is milliseconds, however small
}

// expansion says which placeholders a string takes.
type expansion uint8

const (
	expandNone  expansion = iota
	expandNow             // variables only: ${root} can have no meaning here
	expandLater           // variables; ${root}, ${roots} and ${root:NAME} stay for the child's start
)

// key is one key of an object.
type key struct {
	name     string
	spec     *spec
	def      string // default as JSON, filled in; "" = none
	note     string // default in words, where def cannot say it
	text     string // one sentence for docs/config.md
	guard    bool   // losing it to a misspelling would open something
	required bool
	restart  bool // a hub that runs goes on with the former value
}

func object(keys ...key) *spec   { return &spec{kind: kindObject, keys: keys} }
func guarding(keys ...key) *spec { return &spec{kind: kindObject, keys: keys, closed: true} }
func choice(of ...string) *spec  { return &spec{kind: kindChoice, choices: of} }
func listOf(elem *spec) *spec    { return &spec{kind: kindList, elem: elem} }
func someOf(elem *spec) *spec    { return &spec{kind: kindList, elem: elem, min: 1} }
func whole(min, max int64) *spec { return &spec{kind: kindInt, min: min, max: max} }
func span(min, max time.Duration) *spec {
	return &spec{kind: kindDuration, min: int64(min), max: int64(max)}
}
func str(valid func(string) string) *spec { return &spec{kind: kindString, valid: valid} }
func place() *spec                        { return &spec{kind: kindString, valid: notEmpty, expand: expandNow} }

const day = 24 * time.Hour

var (
	flagSpec     = &spec{kind: kindBool}
	allowSpec    = &spec{kind: kindAllow}
	nameSpec     = str(notEmpty)
	patternSpec  = str(isPattern)
	pointerSpec  = str(isPointer)
	argSpec      = &spec{kind: kindString, expand: expandLater, secrets: true}
	envSpec      = &spec{kind: kindScalar, expand: expandLater, secrets: true}
	headerSpec   = &spec{kind: kindScalar, expand: expandNow, secrets: true, valid: noBreak}
	urlSpec      = &spec{kind: kindString, expand: expandNow, secrets: true, valid: notEmpty}
	endpointSpec = &spec{kind: kindString, expand: expandNow, valid: isEndpoint}
	secretSpec   = str(reference.CheckName)
	commandSpec  = &spec{kind: kindString, expand: expandNow, valid: notEmpty}
)

// table is hub.json: every key, once.
var table = object(
	key{name: "mcpServers", guard: true, text: "The child servers by name. A name of other signs than `A-Z a-z 0-9 _ . -` is shortened to these, and `mcphub validate` says how it is called.",
		spec: &spec{kind: kindMap, elem: entryTable}},
	key{name: "sandbox", guard: true, def: `"` + sandboxDefault + `"`, spec: choice(SandboxOff, SandboxAuto, SandboxRequired), text: "The `sandbox.mode` of each server with `command` whose entry says none; see [sandbox.md](sandbox.md)."},
	key{name: "names", text: "How the tools of the children are named.", spec: object(
		key{name: "separator", def: `"__"`, spec: str(isSeparator), text: "Stands between the name of the server and that of its tool."},
		key{name: "max", def: `50`, spec: whole(16, 128), text: "Longest tool name offered. Clients put a prefix of their own before it and cut at 60 to 64."},
	)},
	key{name: "expose", text: "Which tools of the children are listed. A plain string is short for `mode`.", spec: &spec{kind: kindObject, short: "mode", keys: []key{
		{name: "mode", def: `"direct"`, spec: choice("direct", "search", "auto"),
			text: "`direct` lists every tool of every child. `search` lists the hub's own tools and those of `tools.always`; `find-tools` finds the others, and all can be called. `auto` is `search` where all definitions take more than `tokens`, and `direct` otherwise."},
		{name: "tokens", def: `20000`, spec: whole(1, 100_000_000), text: "What `auto` lists at most: tokens of a model's context, at four bytes a token."},
	}}},
	key{name: "inputs", text: "What `mcphub secret set` asks for, for each `${input:ID}`.", spec: listOf(object(
		key{name: "id", required: true, spec: secretSpec, text: "The name of the secret; no two alike."},
		key{name: "description", spec: &spec{kind: kindString}, text: "What the person is asked for."},
		key{name: "password", def: `false`, spec: flagSpec, text: "Do not show what is typed."},
		key{name: "type", spec: &spec{kind: kindString}, text: "Has no effect: a line of text is asked for."},
	))},
	key{name: "secrets", text: "Where the values of `${keyring:NAME}` and `${input:ID}` are kept; see [secrets.md](secrets.md).", spec: object(
		key{name: "store", restart: true, def: `"keyring"`, spec: choice(StoreKeyring, StoreFile), text: "`keyring`: the system's, and a file encrypted by age where there is none. `file`: that file alone."},
		key{name: "identity", restart: true, def: `""`, note: "`secrets.identity` beside the encrypted file", spec: &spec{kind: kindString, expand: expandNow}, text: "The file of the key of age, which its owner alone can read. `mcphub secret set` makes it."},
	)},
	key{name: "auth", text: "How this program logs in at servers, where they say nothing else; see [logins.md](logins.md).", spec: object(
		key{name: "clientId", note: "registered by itself", spec: &spec{kind: kindString, expand: expandNow, valid: orNone(isDocument)}, text: "The https address of a client id metadata document of this program. Authorization servers that take no such document are left to register it, or to `auth.clientId` of the server."},
	)},
	key{name: "roots", guard: true, text: "The directories that clients put in scope.", spec: rootsTable},
	key{name: "policy", guard: true, text: "What is decided otherwise than by the boundary.", spec: policyTable},
	key{name: "approval", text: "How a human is asked.", spec: object(
		key{name: "timeout", def: `"2m"`, spec: span(time.Millisecond, day), text: "How long a question stands before it counts as a no."},
		key{name: "local", def: `"off"`, spec: choice("off", "tty"), text: "`tty`: where the client cannot ask, the call waits for `mcphub approve` at a terminal of the hub's user (not on Windows); see [approval.md](approval.md)."},
	)},
	key{name: "audit", text: "The record of every decision.", spec: object(
		key{name: "dir", restart: true, def: `""`, note: "a folder of the XDG state folder", spec: &spec{kind: kindString, expand: expandNow},
			text: "Where it is kept; `\"off\"` keeps none. `mcphub audit` reads it, docs/audit-format.md describes it."},
		key{name: "required", def: `false`, spec: flagSpec, text: "Deny what cannot be recorded, instead of going on with a loud warning. The line is written before the call is made either way."},
		key{name: "arguments", def: `false`, spec: flagSpec, text: "Record the arguments of calls too, not only the paths found in them. What looks like a secret is left out."},
	)},
	key{name: "logs", text: "What the children write to stderr, in a file for each.", spec: object(
		key{name: "dir", restart: true, def: `""`, note: "a folder of the XDG state folder", spec: &spec{kind: kindString, expand: expandNow},
			text: "Where the files are; `\"off\"` keeps none. They are bounded, and readable by their owner only."},
	)},
	key{name: "http", guard: true, text: "The Streamable HTTP front.", spec: httpTable},
	key{name: "limits", text: "What the hub holds at most.", spec: object(
		key{name: "frame", restart: true, def: `"64MiB"`, spec: &spec{kind: kindSize, min: 64 << 10, max: 1 << 30}, text: "One message."},
		key{name: "id", restart: true, def: `"1KiB"`, spec: &spec{kind: kindSize, min: 64, max: 1 << 20}, text: "The id of one request. One with a longer id is refused, and the error says so."},
		key{name: "definitions", def: `"64MiB"`, spec: &spec{kind: kindSize, min: 64 << 10, max: 1 << 30}, text: "What one server defines of each kind: its tools, prompts, resources, resource templates. The rest is not offered; the log, `mcphub status` and `list-tools` name it. (A list also ends after 1,000 pages, 20,000 entries or 256 MiB.)"},
		key{name: "sessions", restart: true, def: `1000`, spec: whole(1, 1_000_000), text: "Sessions at a time."},
		key{name: "calls", restart: true, def: `256`, spec: whole(1, 1_000_000), text: "Calls under way at a time."},
		key{name: "children", restart: true, def: `256`, spec: whole(1, 100_000), text: "Child processes and connections at a time. Beyond it the hub stops the one that has been idle longest and belongs to no session. If there is none, the call fails with the reason."},
		key{name: "starting", restart: true, def: `8`, spec: whole(1, 1000), text: "Children starting at the same time."},
		key{name: "depth", def: `128`, spec: whole(8, 10_000), text: "Nesting of a call's arguments."},
	)},
)

// entryTable is one entry of mcpServers.
var entryTable = object(
	key{name: "builtin", spec: choice(Builtins()...), text: "A server that is part of mcphub: `files`, a filesystem server that opens every path inside the roots."},
	key{name: "command", spec: commandSpec, text: "The program to start; one name or path, not a shell line."},
	key{name: "args", spec: listOf(argSpec), text: "Its arguments."},
	key{name: "env", spec: &spec{kind: kindMap, elem: envSpec, named: isVariable}, text: "Variables of its environment; a number or a boolean counts as its text, `null` as not there."},
	key{name: "envFile", spec: &spec{kind: kindString, expand: expandLater, valid: notEmpty}, text: "A file with more variables, `NAME=value` on each line, read when the server starts; `env` counts for more. Relative to the folder of this file. One that lies in a root, or where a server may write, needs `local`."},
	key{name: "inherit", spec: listOf(str(isVariable)), text: "More variables of the hub's own environment that it receives."},
	key{name: "cwd", note: "the first root that exists", spec: &spec{kind: kindString, expand: expandLater, valid: notEmpty}, text: "Its working directory."},
	key{name: "local", def: `false`, spec: flagSpec, text: "Let programs and settings come from the working directory, programs from folders of PATH inside a root, and `envFile` from a root."},
	key{name: "url", spec: urlSpec, text: "The address of a server on the network, http or https."},
	key{name: "headers", spec: &spec{kind: kindMap, elem: headerSpec, named: isHeader}, text: "HTTP headers sent to it."},
	key{name: "auth", note: "found out as the server asks", text: "How to log in at a server with `url` that asks for OAuth; see [logins.md](logins.md). Without it `mcphub auth login NAME` works all the same, if the server lets programs register themselves.", spec: object(
		key{name: "clientId", note: "registered by itself", spec: &spec{kind: kindString, expand: expandNow}, text: "The client that was registered at the authorization server for this program, or the https address of a client id metadata document."},
		key{name: "clientSecret", spec: &spec{kind: kindString, expand: expandNow, secrets: true}, text: "Its secret, or its private key in PEM: a reference such as `${keyring:NAME}`."},
		key{name: "scopes", note: "those that the server asks for", spec: listOf(nameSpec), text: "What the login is to be good for."},
		key{name: "issuer", note: "the first that the server names", spec: &spec{kind: kindString, expand: expandNow, valid: orNone(isIssuer)}, text: "The authorization server, where the server names several. Its address may be a private one, which needs this key: one on another port of this machine too."},
		key{name: "flow", note: "browser", spec: choice(FlowBrowser, FlowDevice, FlowClient), text: "`browser`: on this machine. `device`: by a code, on any device. `client`: the client logs in itself, and no person is asked."},
		key{name: "callbackPort", note: "any that is free", spec: whole(1, 65535), text: "The port of this machine to which the browser comes back, where the registration of the client names one: the redirect is `http://127.0.0.1:PORT/callback`."},
	)},
	key{name: "type", note: "stdio for command; for url HTTP, then SSE", spec: choice(TransportStdio, TransportHTTP, TransportSSE), text: "The transport."},
	key{name: "roots", note: "recognised, else list", spec: choice("args", "list", "none"),
		text: "How it learns the roots: `args` puts them in the place of its directory arguments, `list` answers when it asks, `none` tells it nothing."},
	key{name: "paths", guard: true, text: "How paths are found in the arguments of its tools.", spec: guarding(
		key{name: "mode", guard: true, note: "strict for a process or a loopback url, else declared", spec: choice("strict", "declared", "off"),
			text: "`strict` looks everywhere, `declared` only where arguments are declared and at file URIs, `off` nowhere."},
		key{name: "args", guard: true, text: "What single arguments are: by tool (`*` for all), then by JSON pointer with `*` for any one step.",
			spec: &spec{kind: kindMap, named: isPatternName, elem: &spec{kind: kindMap, named: isPointer, elem: &spec{
				kind: kindObject, closed: true, short: "role", keys: []key{
					{name: "role", guard: true, required: true, spec: choice("read", "write", "delete", "none"), text: "What is done to the path; `none`: it is no path. A plain string is short for an object with only this."},
					{name: "base", spec: pointerSpec, text: "JSON pointer of the argument that a relative path starts from."},
				}}}}},
	)},
	key{name: "prefix", note: "name and separator", spec: str(isPrefix), text: "What its tools' names begin with; `\"\"` offers them as they are, as far as `names.max` goes."},
	key{name: "tools", guard: true, text: "Which of its tools are offered. A plain list is short for `include`.", spec: &spec{kind: kindObject, closed: true, short: "include", keys: []key{
		{name: "include", guard: true, note: "all", spec: someOf(patternSpec), text: "Patterns of tools to offer (`*` any text, `?` one character)."},
		{name: "exclude", guard: true, spec: listOf(patternSpec), text: "Patterns of tools to hold back, also from `call-tool`; stronger than `include`."},
		{name: "always", spec: listOf(patternSpec), text: "Patterns of tools that are listed also where `expose` lists no others; of those that `include` and `exclude` leave."},
	}}},
	key{name: "share", note: "session", spec: choice("session", "roots", "all"), text: "Who shares one process: nobody, sessions with exactly the same roots (names and order included), or everybody. A process for everybody is served only the configured roots."},
	key{name: "start", def: `"lazy"`, spec: choice("lazy", "eager"), text: "When it starts: with its session (`eager`), or when it is first called. A lazy server whose tools are not known yet (the first time, or after a change of its entry or program) starts at once; `mcphub warm` finds them out before."},
	key{name: "era", def: `"auto"`, spec: choice("auto", "legacy", "modern"), text: "The era of the protocol it is spoken to in: `legacy` has the handshake (up to 2025-11-25), `modern` has none (2026-07-28). `auto` takes the era of the client if the server has it, else the other one; see [protocol.md](protocol.md#servers-without-a-handshake)."},
	key{name: "timeout", text: "How long things may take. A bare number or duration instead of the object: per call.", spec: &spec{kind: kindObject, short: "call", keys: []key{
		{name: "start", def: `"60s"`, spec: span(time.Millisecond, day), text: "Until it has started and listed its tools."},
		{name: "call", def: `"10m"`, spec: span(time.Millisecond, day), text: "One call. Progress starts it again, and it stands still while the server asks the client something."},
		{name: "idle", note: "never for a session's own process, 15m for shared ones and over HTTP", spec: span(0, 365*day), text: "Stop it after so long without a call; `0`: never."},
		{name: "stop", def: `"2500ms"`, spec: span(time.Millisecond, time.Hour), text: "The whole way from closing its input to killing it."},
	}}},
	key{name: "sandbox", guard: true, text: "What the kernel holds its process to; see [sandbox.md](sandbox.md). A plain string is short for `mode`.", spec: &spec{kind: kindObject, closed: true, short: "mode", keys: []key{
		{name: "mode", guard: true, note: "that of the top key `sandbox`; `off` for `builtin`", spec: choice(SandboxOff, SandboxAuto, SandboxRequired), text: "`auto`: as far as the system can, and what it cannot is said. `required`: it does not start where the system cannot. `off`: it opens what its user may."},
		{name: "read", guard: true, spec: listOf(place()), text: "Paths that it may read beside the boundary; relative ones start at the folder of this file."},
		{name: "write", guard: true, spec: listOf(place()), text: "Paths that it may read and write beside the boundary."},
		{name: "network", guard: true, def: `"on"`, spec: &spec{kind: kindPorts, choices: []string{"on", "off"}, elem: whole(1, 65535), min: 1}, text: "`off`, or the TCP ports that it may use; UDP is not held to ports."},
		{name: "sockets", guard: true, note: "off, but for browsers", spec: choice("on", "off"), text: "Unix sockets. `on`: it can reach D-Bus, docker and ssh-agent, and through them everything."},
		{name: "widen", note: "restart, but for servers that are known to keep state: refuse", spec: choice("restart", "refuse"), text: "What happens when the boundary becomes wider: a running process can only be held to less, so it is started anew, or stays as it is."},
	}}},
	key{name: "disabled", guard: true, def: `false`, spec: flagSpec, text: "Leave it out."},
)

var rootsTable = object(
	key{name: "timeout", def: `"10s"`, spec: span(time.Millisecond, time.Hour), text: "How long a client may take to list its roots; all waiting of one call together."},
	key{name: "debounce", def: `"250ms"`, spec: &spec{kind: kindDuration, max: int64(time.Minute), millis: true}, text: "Quiet time after a change before the client is asked again. A bare number is milliseconds, however small."},
	key{name: "stale", def: `"10m"`, spec: span(time.Millisecond, 30*day), text: "How long roots hold that could not be refreshed."},
	key{name: "fallback", text: "Roots for clients that give none: paths, or objects with path and name. Relative ones start at `MCPHUB_PROJECT_ROOT`, else at the folder of this file. Patterns too: see [roots.md](roots.md).",
		spec: &spec{kind: kindList, skip: true, elem: &spec{kind: kindObject, short: "path", keys: []key{
			{name: "path", required: true, spec: place(), text: "The directory or file, or a pattern of directories."},
			{name: "name", spec: nameSpec, text: "What it is called."},
		}}}},
	key{name: "when", guard: true, text: "What holds for paths where no boundary is known.", spec: guarding(
		key{name: "unsupported", guard: true, def: `"allow"`, spec: allowSpec, text: "The client cannot give roots, and there is no fallback."},
		key{name: "empty", guard: true, def: `"deny"`, spec: allowSpec, text: "The client answered that it has none."},
		key{name: "failed", guard: true, def: `"deny"`, spec: allowSpec, text: "The client did not answer, or nothing it named could be used, and there is no fallback."},
	)},
	key{name: "resources", guard: true, spec: listOf(&spec{kind: kindString, expand: expandNow, valid: isResource}),
		text: "Prefixes of URIs, such as `https://api.example.com/v1/`. Where there is one of a scheme, tools and resources/read may name URIs of that scheme at or below one only; other schemes stay as they are. See [policy.md](policy.md#beyond-files)."},
	key{name: "clientResources", guard: true, def: `false`, spec: flagSpec, text: "Let the client's own roots of other schemes than `file` count among `resources`."},
)

var policyTable = guarding(
	key{name: "sandbox", guard: true, spec: place(), text: "A directory that is always inside the boundary: a real one of the hub's own user, in which nobody else may write. See [policy.md](policy.md)."},
	key{name: "protected", guard: true, spec: listOf(place()), text: "Paths that no rule and no root opens; relative ones start at the folder of this file. They need not exist."},
	key{name: "rules", guard: true, text: "Asked in order; each path takes the first that matches, the call the strictest of its paths.", spec: listOf(guarding(
		key{name: "name", note: "rule N", spec: nameSpec, text: "Stands in the audit and in refusals; no two alike."},
		key{name: "then", required: true, guard: true, spec: choice(ThenAllow, ThenDeny, ThenEscalate), text: "`escalate` asks a human."},
		key{name: "serve", def: `false`, spec: flagSpec, text: "Serve the directory of an `escalate` rule to the children from the start, and not only once a person has allowed it."},
		key{name: "if", guard: true, note: "always", text: "All that is given must match.", spec: guarding(
			key{name: "servers", guard: true, note: "any", spec: someOf(patternSpec), text: "Patterns of server names."},
			key{name: "tools", guard: true, note: "any", spec: someOf(patternSpec), text: "Patterns of the children's own tool names, without the hub's prefix; for other requests their method (`resources/read`)."},
			key{name: "paths", guard: true, note: "any", text: "Which paths; left out, calls without a path too.", spec: guarding(
				key{name: "roles", guard: true, note: "any", spec: someOf(choice("read", "write", "delete")), text: "What is done to them."},
				key{name: "within", guard: true, spec: place(), text: "The directory that they lie in; relative ones start at the folder of this file. It need not exist."},
				key{name: "outside", guard: true, def: `false`, spec: flagSpec, text: "Only those outside the boundary."},
			)},
		)},
	))},
)

var httpTable = object(
	key{name: "listen", restart: true, def: `"127.0.0.1:0"`, spec: &spec{kind: kindString, expand: expandNow, valid: isListen}, text: "Address to listen on; port 0 picks one."},
	key{name: "auth", restart: true, guard: true, def: `"token"`, spec: choice(AuthToken, AuthNone), text: "`token`: a client shows a bearer token: one of `tokens` or of `issuers`, and where there is neither, the one that the hub makes. `none`: whoever reaches the address may call, with roots of its own choice: every user and process of this machine, the servers of hubs as well; only on loopback, and not with `tokens` or `issuers`. See [http.md](http.md#who-may-call)."},
	key{name: "hosts", restart: true, spec: listOf(nameSpec), text: "More names by which clients may call it (the Host header)."},
	key{name: "origins", restart: true, spec: listOf(nameSpec), text: "Web pages that may call it (the Origin header)."},
	key{name: "poll", restart: true, def: `"0s"`, spec: span(0, day), text: "End the connection of a request after this time, and let the client come back for the rest (2025-11-25). For proxies that end long connections; `0`: never."},
	key{name: "stateKey", restart: true, guard: true, note: "a random one", text: "The key that seals `requestState` (protocol version 2026-07-28). Hubs with the same key take each other's, so that a client may reach any of them. A line of 32 characters or more, such as `openssl rand -base64 32` prints.", spec: guarding(
		key{name: "env", guard: true, spec: str(isVariable), text: "The variable of the hub's environment that holds it; this or `file`."},
		key{name: "file", guard: true, spec: place(), text: "A file that holds it and that its owner alone can read; this or `env`."},
	)},
	key{name: "tokens", restart: true, guard: true, note: "one that the hub makes", text: "Who may call, by bearer token.", spec: listOf(guarding(
		key{name: "name", required: true, spec: nameSpec, text: "Whose it is; no two alike."},
		key{name: "env", guard: true, spec: str(isVariable), text: "The variable of the hub's environment that holds the token; this or `file`."},
		key{name: "file", guard: true, spec: place(), text: "A file that holds the token and that its owner alone can read; this or `env`."},
		key{name: "roots", guard: true, note: "no ceiling", spec: someOf(place()), text: "Directories that its client never leaves, whatever else allows it. Patterns too: see [roots.md](roots.md)."},
	))},
	key{name: "resource", restart: true, guard: true, note: "none", spec: endpointSpec, text: "The address of this hub as clients know it, such as `https://hub.example/mcp`; needed with `issuers`. See [http.md](http.md#tokens-of-an-authorization-server)."},
	key{name: "issuers", restart: true, guard: true, text: "Authorization servers whose access tokens (JWT) count beside `tokens`.", spec: listOf(guarding(
		key{name: "issuer", required: true, guard: true, spec: str(isIssuer), text: "What it calls itself: the claim `iss`, to the byte."},
		key{name: "audience", guard: true, note: "`http.resource`", spec: nameSpec, text: "What the claim `aud` must name."},
		key{name: "principal", guard: true, def: `"sub"`, spec: nameSpec, text: "The claim that says whose the token is."},
		key{name: "scopes", guard: true, spec: someOf(nameSpec), text: "Scopes that a token must have, all of them."},
		key{name: "roots", guard: true, note: "no ceiling", text: "Directories that a client never leaves, by what its token says.", spec: guarding(
			key{name: "claim", required: true, guard: true, spec: nameSpec, text: "The claim, such as `groups`: a text or a list of texts."},
			key{name: "values", required: true, guard: true, text: "Directories for each value. A token with several values has all of theirs, one with none of them no directory at all. Patterns too: see [roots.md](roots.md).",
				spec: &spec{kind: kindMap, named: notEmpty, elem: someOf(place())}},
		)},
	))},
)

// find returns the key of that name, or nil.
func (s *spec) find(name string) *key {
	for i := range s.keys {
		if s.keys[i].name == name {
			return &s.keys[i]
		}
	}
	return nil
}
