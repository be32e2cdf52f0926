package keys

// Values of mcpServers.*.type.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "http"
	TransportSSE   = "sse"
)

// ModernProtocol is the value of mcpServers.*.protocol that has no handshake.
const ModernProtocol = "2026-07-28"

// Values of http.auth.
const (
	AuthToken = "token"
	AuthNone  = "none"
)

// Values of mcpServers.*.auth.flow.
const (
	FlowBrowser  = "browser"
	FlowDevice   = "device"
	FlowClient   = "client"
	FlowExchange = "exchange"
)

// Values of mcpServers.*.auth.redirectHost, and the path of a redirect whose entry names none.
const (
	RedirectIP   = "127.0.0.1"
	RedirectName = "localhost"
	RedirectPath = "/callback"
)

// Values of policy.rules[].then.
const (
	ThenAllow    = "allow"
	ThenDeny     = "deny"
	ThenEscalate = "escalate"
)

// LocalTTY is the value of approval.local that is not its default.
const LocalTTY = "tty"

// Values of approval.from.
const (
	FromClient   = "client"
	FromTerminal = "terminal"
	FromConsole  = "console"
)

// Values of approval.notify.
const (
	NotifyAuto = "auto"
	NotifyOff  = "off"
)

// Values of attach.mode.
const (
	AttachOff  = "off"
	AttachAuto = "auto"
)

// Values of secrets.store.
const (
	StoreKeyring = "keyring"
	StoreFile    = "file"
)

// BuiltinFiles is the embedded filesystem server.
const BuiltinFiles = "files"

// Values of roots.when.unsupported.
const (
	WhenProject = "project"
	WhenAllow   = "allow"
	WhenDeny    = "deny"
)

// Values of changes and mcpServers.*.changes.
const (
	ChangesAsk    = "ask"
	ChangesRefuse = "refuse"
	ChangesWarn   = "warn"
)

// Values of sandbox and mcpServers.*.sandbox.mode.
const (
	SandboxOff      = "off"
	SandboxAuto     = "auto"
	SandboxRequired = "required"

	SandboxDefault = SandboxAuto // of the top key
)
