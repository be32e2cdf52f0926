package methods

// Names of requests.
const (
	Initialize  = "initialize"
	Ping        = "ping"
	SetLogLevel = "logging/setLevel"
	Discover    = "server/discover"
	Listen      = "subscriptions/listen"

	ListTools     = "tools/list"
	ListPrompts   = "prompts/list"
	ListResources = "resources/list"
	ListTemplates = "resources/templates/list"

	CallTool     = "tools/call"
	GetPrompt    = "prompts/get"
	ReadResource = "resources/read"
	Complete     = "completion/complete"
	Subscribe    = "resources/subscribe"
	Unsubscribe  = "resources/unsubscribe"

	GetTask    = "tasks/get"
	TaskResult = "tasks/result"
	ListTasks  = "tasks/list"
	CancelTask = "tasks/cancel"
	UpdateTask = "tasks/update"

	ListRoots = "roots/list"
	Sample    = "sampling/createMessage"
	Elicit    = "elicitation/create"
)

// Names of notifications.
const (
	Initialized      = "notifications/initialized"
	Cancelled        = "notifications/cancelled"
	Progress         = "notifications/progress"
	Message          = "notifications/message"
	ToolsChanged     = "notifications/tools/list_changed"
	PromptsChanged   = "notifications/prompts/list_changed"
	ResourcesChanged = "notifications/resources/list_changed"
	ResourceUpdated  = "notifications/resources/updated"
	RootsChanged     = "notifications/roots/list_changed"
	TaskStatus       = "notifications/tasks/status"
	TaskNews         = "notifications/tasks" // the same in the extension for tasks
	Elicited         = "notifications/elicitation/complete"
	Acknowledged     = "notifications/subscriptions/acknowledged"
)

// A MethodKind says who answers a method.
type MethodKind uint8

// The kinds of methods.
const (
	Extension    MethodKind = iota // the child that has the extension answers: the protocol does not know the method
	Notification                   // a notification has no answer
	Question                       // the client answers what a child asks
	Hub                            // the hub itself answers
	List                           // the hub answers with what is on offer
	Stream                         // no answer comes as long as the client listens
	Task                           // the one who made the task answers
	Call                           // a child answers. The request is judged before it is sent
	Inspection                     // the hub answers what would become of a call
)

// A Method is what the protocol says about one.
type Method struct {
	Name      string
	Kind      MethodKind
	Header    string // the member of params that the header Mcp-Name repeats; "" if there is no such header
	MayAsk    bool   // its result may ask for input (2026-07-28)
	Tasks     bool   // its result may be a task (2026-07-28)
	Cacheable bool   // its result, made by a child, reports how long it may be kept (2026-07-28)

	Extension string // the key of the extension that it is of; "" if it is the protocol's, or that is not known
}

// table has the methods that come often first: it is searched from there.
var table = [...]Method{
	{Name: CallTool, Kind: Call, Header: "name", MayAsk: true, Tasks: true},
	{Name: Progress, Kind: Notification},
	{Name: Message, Kind: Notification},
	{Name: Ping, Kind: Hub},
	{Name: GetPrompt, Kind: Call, Header: "name", MayAsk: true},
	{Name: ReadResource, Kind: Call, Header: "uri", MayAsk: true, Cacheable: true},
	{Name: Subscribe, Kind: Call},
	{Name: Unsubscribe, Kind: Call},
	{Name: Complete, Kind: Call},

	{Name: Initialize, Kind: Hub},
	{Name: SetLogLevel, Kind: Hub},
	{Name: Discover, Kind: Hub},
	{Name: Listen, Kind: Stream},
	{Name: ListTools, Kind: List},
	{Name: ListPrompts, Kind: List},
	{Name: ListResources, Kind: List},
	{Name: ListTemplates, Kind: List},

	{Name: GetTask, Kind: Task, Header: "taskId"}, // headers: the extension for tasks, Routing Headers
	{Name: UpdateTask, Kind: Task, Header: "taskId"},
	{Name: CancelTask, Kind: Task, Header: "taskId"},
	{Name: TaskResult, Kind: Task},
	{Name: ListTasks, Kind: Task},

	{Name: ListRoots, Kind: Question},
	{Name: Sample, Kind: Question},
	{Name: Elicit, Kind: Question},

	{Name: Initialized, Kind: Notification},
	{Name: Cancelled, Kind: Notification},
	{Name: ToolsChanged, Kind: Notification},
	{Name: PromptsChanged, Kind: Notification},
	{Name: ResourcesChanged, Kind: Notification},
	{Name: ResourceUpdated, Kind: Notification},
	{Name: RootsChanged, Kind: Notification},
	{Name: TaskStatus, Kind: Notification},
	{Name: TaskNews, Kind: Notification},
	{Name: Elicited, Kind: Notification},
	{Name: Acknowledged, Kind: Notification},
}

// Of returns what the protocol, or an extension, says about a method. One that neither knows has only its name.
func Of(name string) Method {
	for i := range table {
		if table[i].Name == name {
			return table[i]
		}
	}
	for i := range extensions {
		if extensions[i].Name == name {
			return extensions[i]
		}
	}
	return Method{Name: name}
}

// ExtensionSkills is the key of the extension for skills (modelcontextprotocol/ext-skills, specification/stable/skills.mdx).
const ExtensionSkills = "io.modelcontextprotocol/skills"

// ExtensionTasks is the key of the extension of 2026-07-28 for tasks.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// Methods of extensions that the hub knows.
const (
	ListSkills    = "skills/list"
	GetSkill      = "skills/get"
	ReadDirectory = "resources/directory/read"
)

// extensions has them: of no other is known more than its name. A list is merged as the ones of the protocol are; what
// has a uri in its params goes to the child that has that resource.
var extensions = [...]Method{
	{Name: ListSkills, Extension: ExtensionSkills},
	{Name: GetSkill, Extension: ExtensionSkills, Cacheable: true},
	{Name: ReadDirectory, Extension: ExtensionSkills},
}

// OfProtocol reports whether a request or notification is one of the protocol, in any of its versions. All
// others belong to extensions.
func OfProtocol(name string) bool { return Of(name).Kind != Extension }

// Judged returns the methods that are judged before a child answers them.
func Judged() (names []string) {
	for i := range table {
		if table[i].Kind == Call {
			names = append(names, table[i].Name)
		}
	}
	return names
}
