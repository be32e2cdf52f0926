package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/redact"
)

// Version is the format of a line.
const Version = 1

// Kinds of lines.
const (
	KindOpen       = "open"       // a log begins
	KindSession    = "session"    // a session begins, of a client that shares the hub with others
	KindDecision   = "decision"   // a request was decided upon
	KindOutcome    = "outcome"    // what became of one that was let through, or of several
	KindQuestion   = "question"   // a human was asked, and what was answered
	KindDefinition = "definition" // a tool that was offered before is defined otherwise
	KindRefusal    = "refusal"    // the kernel has refused a child something, as far as the child tells
	KindRejection  = "rejection"  // the HTTP front has refused a request
	KindEnded      = "ended"      // who operates the hub has ended a session
	KindLost       = "lost"       // there was no room for so many lines while the file could not be written
	KindCheckpoint = "checkpoint" // of chain.jsonl: the state of a log
	KindClose      = "close"      // a log ends
	KindTorn       = "torn"       // a line before this one was cut off
	KindRemoved    = "removed"    // of chain.jsonl: a file of a log was removed, as it was to be
)

// Values of Outcome.Result.
const (
	ResultOK          = "ok"
	ResultAnswered    = "answered"   // too large to look whether it reports that the tool failed
	ResultToolError   = "tool-error" // isError
	ResultError       = "error"      // a JSON-RPC error of the server
	ResultCancelled   = "cancelled"  // by the client, or it has gone
	ResultTimeout     = "timeout"    // nothing was heard of the server for too long
	ResultUnavailable = "unavailable"
	ResultNotSent     = "not-sent" // the record of the decision could not be written, or the server had ended before the call was
)

// Bounds of one line.
const (
	MaxFindings  = 64   // of a Record: the one who makes it counts the rest in More
	maxText      = 4096 // bytes of one path or name
	maxArguments = 64 << 10
	maxRequest   = 128             // bytes of a request's id
	maxDepth     = redact.MaxDepth // of arguments that are recorded
	maxLevels    = maxDepth + 8    // of a line
)

// A Record is what a line tells about a decision, a question, a definition, a refusal or a session.
// The tags are the names of its members: lines are read by them, and docs/audit-format.md has each of
// them. Paths and arguments are redacted, and texts clipped, when a Record is written; none of it is
// kept.
type Record struct {
	Session   string          `json:"session"`
	Principal string          `json:"principal"` // whose session it is
	Client    string          `json:"-"`         // how the client of the session calls itself, without secrets; it is read as ClientInfo.Name
	Request   json.RawMessage `json:"request"`   // the client's id, raw JSON; nil if the hub asks by itself
	Method    string          `json:"method"`    // "" is tools/call
	DecisionFields
	Trace
	Arguments  json.RawMessage `json:"arguments"`  // raw, only where asked for
	Within     []string        `json:"within"`     // the directories in scope, of what was not let through
	NamedBy    string          `json:"namedBy"`    // of a refusal: who names the path: entry, call, server or notice
	Opens      string          `json:"opens"`      // of a refusal: what has to be opened for it
	Why        string          `json:"why"`        // of a refusal: why nothing is
	Micros     int64           `json:"us"`         // microseconds until it was decided; of an outcome, until the answer
	Status     int             `json:"status"`     // of HTTP, of a rejection
	Suppressed int             `json:"suppressed"` // of a rejection: how many there were before that have no line
	ClientInfo                 // of a session
}

// A Trace is the context of the trace that a request is part of (W3C Trace Context, Baggage).
type Trace struct {
	Parent  string `json:"traceparent,omitempty"` // the span of the hub if it traces, else the client's
	State   string `json:"tracestate,omitempty"`
	Baggage string `json:"baggage,omitempty"`
}

// A ClientInfo is who has come with a session.
type ClientInfo struct {
	Name    string `json:"client,omitempty"`  // and version, as it calls itself; "" while it is not known
	Folder  string `json:"folder,omitempty"`  // its working directory
	Process int    `json:"process,omitempty"` // its id
	Adapter int    `json:"adapter,omitempty"` // process id of what the client has started to be served
	Address string `json:"address,omitempty"` // that it came from over HTTP
	Agent   string `json:"agent,omitempty"`   // the User-Agent that it came with
}

// DecisionFields is what was decided: of one call, of all calls of a line, or of each of them. appendMembers writes
// each field, and trail.Event reads it by its tag. For a decision, four functions fill the fields in: in package record
// Decision.fillFields for a verdict, Writer.WriteRefusal for a request without a verdict and Writer.WriteQuestion for a question, and in
// package catalog Tool.CommonDecision for a call without a path. Child and Tool are set by Writer.beginLine and Decision.Encoded of package
// record, by Tool.CommonDecision, and by fastCall.recordAndSend of package call. Writer.appendDecision sets Code, and the Decision of a call for which a person was asked and did not approve. A line of
// another kind has few fields, and they are set in the function that makes the line: a refusal of the kernel, the end of a session, a
// request that the front refuses, a changed definition. The formats for collectors (cmd/mcphub/audit_formats.go,
// cmd/mcphub/internal/otlp) choose fields by name.
type DecisionFields struct {
	Child    string    `json:"child,omitempty"`    // "" if the request names none that there is
	Tool     string    `json:"tool,omitempty"`     // of the child, or the prompt
	Decision string    `json:"decision,omitempty"` // allow, deny, escalate; refuse: it could not be judged, or not be made
	Rule     string    `json:"rule,omitempty"`     // what decided
	Kernel   string    `json:"kernel,omitempty"`   // how far the kernel holds the child: held, partial, none; "" if it is not to be confined
	Code     string    `json:"code,omitempty"`     // why, if it was not let through
	By       string    `json:"by,omitempty"`       // who approved it
	Approver string    `json:"approver,omitempty"` // the name of that person
	Granted  []Granted `json:"granted,omitempty"`
	RootsBasis
	Rewritten int       `json:"rewritten,omitempty"` // how many arguments were given another spelling
	Lenient   int       `json:"lenient,omitempty"`   // how many values fit the tool's schema by a lenient reading alone
	Findings  []Finding `json:"findings,omitempty"`
	More      int       `json:"more,omitempty"` // findings beyond those
}

// A RootsBasis is the roots that a decision was made by.
type RootsBasis struct {
	Roots      string `json:"roots,omitempty"`      // their origin
	Generation uint64 `json:"generation,omitempty"` // 0 where none were needed
	Stale      bool   `json:"stale,omitempty"`      // they could not be refreshed
}

// A Finding is one path of a call.
type Finding struct {
	At     string `json:"at"`             // JSON pointer within the arguments
	Role   string `json:"role"`           // read, write, delete
	Path   string `json:"path"`           // its target, canonical; "" if that could not be told
	Inside bool   `json:"inside"`         // of the boundary
	Ways   int    `json:"ways,omitempty"` // how many places it may stand for, with links followed or not; 0 or 1 if Path is the only one
}

// Granted is a file or a directory that the answer to a question has opened.
type Granted struct {
	File      string `json:"file,omitempty"`
	Directory string `json:"directory,omitempty"` // with what is below it
	Roles     string `json:"roles"`
}

// A CallRecord is one of several records that were decided at the same time. Those of a session
// share a line.
type CallRecord struct {
	Session   string          `json:"-"`       // which the line has
	Principal string          `json:"-"`       // which the line has
	Client    string          `json:"-"`       // which the line has, as in a Record
	Request   json.RawMessage `json:"request"` // as in a Record
	Trace
	Arguments json.RawMessage `json:"arguments"` // as in a Record
	Encoded   EncodedDecision `json:"-"`         // what was decided, when it is written
	// DecisionFields is what was decided too. A reader fills it in if the calls of the line do not all have it in common. A writer sets only
	// Child and Tool, which the line of the outcome needs.
	DecisionFields
}

// An EncodedDecision is DecisionFields as they are written. The lines of many records may have one in common.
type EncodedDecision []byte

// EncodeDecision encodes what was decided.
func EncodeDecision(d *DecisionFields) EncodedDecision { return EncodedDecision(d.appendMembers(nil)) }

// An Outcome is what became of a request that was let through.
type Outcome struct {
	DecisionLine uint64     `json:"of"`     // number of the decision's line
	Call         int        `json:"call"`   // which of its calls, from 1; 0 if it has but one
	Result       string     `json:"result"` // one of the Result constants
	Micros       int64      `json:"us"`     // microseconds from the decision to the answer
	CallSubject  `json:"-"` // readers have it by the decision
}

// A CallSubject is whose call an outcome is of, and which. The line of the decision has more. A line of an outcome has this too, for
// a program that searches lines or is sent single ones.
type CallSubject struct{ Principal, Client, Child, Tool string }

// Duration returns how long it was until the answer.
func (outcome *Outcome) Duration() time.Duration {
	return time.Duration(outcome.Micros) * time.Microsecond
}

// A CallPosition is the position of a decision in its log.
type CallPosition struct {
	Line uint64
	Call int // from 1, of a line that tells about several; else 0
}

// DecisionPosition returns the position of the decision that this is the outcome of.
func (outcome *Outcome) DecisionPosition() CallPosition {
	return CallPosition{outcome.DecisionLine, outcome.Call}
}

// line is a line that is being written. Its parts are appended in place, because this
// runs for every call.
type line []byte

// startLine writes what every line begins with: its number, the hash of the line
// before, its time, its kind. Readers take these from their places (docs/audit-format.md), so a member that
// every line is to have is written by finishLine, and read into trail.Event.
func (b line) startLine(number uint64, prev *[64]byte, at []byte, kind string) line {
	b = append(b, `{"v":1,"n":`...)
	b = append(strconv.AppendUint(b, number, 10), `,"prev":"`...)
	b = append(append(b, prev[:]...), `","time":"`...)
	b = append(append(b, at...), `","kind":"`...)
	return append(append(b, kind...), '"')
}

// finishLine writes what every line ends with: the hash of all before it from an offset on, and the line end.
func (b line) finishLine(from int, head *[64]byte) line {
	sum := sha256.Sum256(b[from:])
	hex.Encode(head[:], sum[:])
	b = append(b, `,"hash":"`...)
	return append(append(b, head[:]...), "\"}\n"...)
}

const TimeFormat = "2006-01-02T15:04:05.000000Z"

// A stamp writes times. Within one second it formats only the digits behind the point.
type stamp struct {
	second int64
	text   [len(TimeFormat) + 8]byte // AppendFormat writes more digits than it leaves
}

func (s *stamp) formatTime(t time.Time) []byte {
	if second := t.Unix(); second != s.second || s.text[0] == 0 {
		t.UTC().AppendFormat(s.text[:0], TimeFormat)
		s.second = second
	}
	us := t.Nanosecond() / 1000
	for i := len(TimeFormat) - 2; i >= len(TimeFormat)-7; i-- {
		s.text[i] = byte('0' + us%10)
		us /= 10
	}
	return s.text[:len(TimeFormat)]
}

func (b line) addText(name, value string) line {
	if value == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	if len(value) > maxText {
		value = clipText(value, maxText)
	}
	if isPlain(value) {
		return append(append(append(b, '"'), value...), '"')
	}
	// The error is for invalid UTF-8, which is replaced all the same.
	quoted, _ := jsontext.AppendQuote(b, value)
	return line(quoted)
}

// clipText cuts a text between two runes.
func clipText(s string, most int) string {
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// isPlain reports whether a text needs no escapes in JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// maxTexts is how many of a list a line has.
const maxTexts = 16

// addTexts writes a list of texts, as far as there is room.
func (b line) addTexts(name string, values []string) line {
	if len(values) == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":[`...)
	for i, value := range values[:min(len(values), maxTexts)] {
		if i > 0 {
			b = append(b, ',')
		}
		if value = redact.Text(value); len(value) > maxText {
			value = clipText(value, maxText)
		}
		quoted, _ := jsontext.AppendQuote(b, value)
		b = quoted
	}
	return append(b, ']')
}

func (b line) addNumber(name string, value int64) line {
	if value <= 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendInt(b, value, 10)
}

func (b line) addFlag(name string, value bool) line {
	if !value {
		return b
	}
	return append(append(append(b, `,"`...), name...), `":true`...)
}

// addRaw writes a JSON value that was checked before, on one line.
func (b line) addRaw(name string, value []byte) line {
	if len(value) == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	from := len(b)
	b = append(b, value...)
	for i := from; i < len(b); i++ {
		if b[i] == '\n' || b[i] == '\r' {
			b[i] = ' ' // between tokens
		}
	}
	return b
}

// appendMembers writes what the Record holds. If form is not nil, it is written instead of the DecisionFields.
func (record *Record) appendMembers(b line, form EncodedDecision) line {
	b = b.addText("session", record.Session).addText("principal", record.Principal).addText("client", record.Client).addRequest(record.Request).addText("method", record.Method)
	if form != nil {
		b = append(b, form...)
	} else {
		b = record.DecisionFields.appendMembers(b)
	}
	b = record.Trace.appendMembers(b).addArguments(record.Arguments)
	b = b.addTexts("within", record.Within).addText("namedBy", record.NamedBy).addText("opens", redact.Text(record.Opens)).addText("why", redact.Text(record.Why))
	b = b.addNumber("us", record.Micros).addNumber("status", int64(record.Status)).addNumber("suppressed", int64(record.Suppressed))
	if record.ClientInfo == (ClientInfo{}) {
		return b
	}
	return record.ClientInfo.appendMembers(b)
}

func (trace *Trace) appendMembers(b line) line {
	if *trace == (Trace{}) {
		return b
	}
	return b.addText("traceparent", trace.Parent).addText("tracestate", trace.State).addText("baggage", redact.Text(trace.Baggage))
}

func (info *ClientInfo) appendMembers(b line) line {
	b = b.addText("client", redact.Text(info.Name)).addText("folder", redact.Text(info.Folder))
	b = b.addNumber("process", int64(info.Process)).addNumber("adapter", int64(info.Adapter))
	return b.addText("address", info.Address).addText("agent", redact.Text(info.Agent))
}

func (d *DecisionFields) appendMembers(b line) line {
	b = b.addText("child", d.Child).addText("tool", d.Tool).addText("decision", d.Decision).addText("rule", d.Rule).addText("kernel", d.Kernel)
	b = appendList(b.addText("code", d.Code).addText("by", d.By).addText("approver", d.Approver), "granted", d.Granted, (*Granted).appendMembers)
	b = b.addText("roots", d.Roots).addNumber("generation", int64(d.Generation)).addFlag("stale", d.Stale).addNumber("rewritten", int64(d.Rewritten)).addNumber("lenient", int64(d.Lenient))
	return appendList(b, "findings", d.Findings, (*Finding).appendMembers).addNumber("more", int64(d.More))
}

func (finding *Finding) appendMembers(b line) line {
	b = b.addText("at", finding.At).addText("role", finding.Role).addText("path", finding.shownPath()).addFlag("inside", finding.Inside)
	if finding.Ways > 1 {
		b = b.addNumber("ways", int64(finding.Ways))
	}
	return b
}

func (granted *Granted) appendMembers(b line) line {
	return b.addText("file", redact.Text(granted.File)).addText("directory", redact.Text(granted.Directory)).addText("roles", granted.Roles)
}

func (outcome *Outcome) appendMembers(b line) line {
	b = b.addNumber("of", int64(outcome.DecisionLine)).addNumber("call", int64(outcome.Call)).addText("result", outcome.Result).addNumber("us", outcome.Micros)
	return outcome.CallSubject.appendMembers(b)
}

func (subject *CallSubject) appendMembers(b line) line {
	return b.addText("principal", subject.Principal).addText("client", subject.Client).addText("child", subject.Child).addText("tool", subject.Tool)
}

// appendList writes a list of objects.
func appendList[T any](b line, name string, all []T, members func(*T, line) line) line {
	if len(all) == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":[`...)
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		at := len(b)
		if b = members(&all[i], b); len(b) == at {
			b = append(b, '{')
		} else {
			b[at] = '{' // the comma before the first member
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

func (b line) addRequest(id []byte) line {
	if len(id) <= maxRequest {
		return b.addRaw("request", id)
	}
	return b.addText("request", clipText(string(id), maxRequest))
}

func (b line) addArguments(raw []byte) line {
	switch {
	case len(raw) > maxArguments:
		return b.addNumber("argumentsBytes", int64(len(raw)))
	case len(raw) > 0:
		return b.addRaw("arguments", redact.JSON(raw))
	}
	return b
}

// membersOfCalls writes the members of a line about several calls of one session. If all
// have the same EncodedDecision, it is written once, for the line.
func membersOfCalls(b line, calls []CallRecord) line {
	b = b.addText("session", calls[0].Session).addText("principal", calls[0].Principal).addText("client", calls[0].Client)
	alike := !slices.ContainsFunc(calls, func(c CallRecord) bool { return !bytes.Equal(c.Encoded, calls[0].Encoded) })
	if alike {
		b = append(b, calls[0].Encoded...)
	}
	return appendList(b, "calls", calls, func(c *CallRecord, b line) line {
		b = b.addRequest(c.Request)
		if !alike {
			b = append(b, c.Encoded...)
		}
		return c.Trace.appendMembers(b).addArguments(c.Arguments)
	})
}

// appendOutcomes writes the members of a line about one outcome, or about several. What all have in common of their
// CallSubject is written once, for the line. It is taken from the outcomes.
func appendOutcomes(b line, all []Outcome) line {
	if len(all) == 1 {
		return all[0].appendMembers(b)
	}
	common := all[0].CallSubject
	for i := range all {
		common.keepEqual(&all[i].CallSubject)
	}
	for i := range all {
		all[i].CallSubject.removeEqual(&common)
	}
	return appendList(common.appendMembers(b), "outcomes", all, (*Outcome).appendMembers)
}

func (subject *CallSubject) members() [4]*string {
	return [4]*string{&subject.Principal, &subject.Client, &subject.Child, &subject.Tool}
}

// keepEqual keeps those members that the other one has too.
func (subject *CallSubject) keepEqual(other *CallSubject) {
	theirs := other.members()
	for i, own := range subject.members() {
		if *own != *theirs[i] {
			*own = ""
		}
	}
}

// removeEqual removes those members that the other one has too.
func (subject *CallSubject) removeEqual(other *CallSubject) {
	theirs := other.members()
	for i, own := range subject.members() {
		if *own == *theirs[i] {
			*own = ""
		}
	}
}
