package hints

import (
	"fmt"

	"mcphub/children/sandbox"
	"mcphub/internal/printable"
)

// TextPrefix begins what Text says.
const TextPrefix = "the kernel holds this server"

// Text returns what a client is told about a refusal. It names no command that opens
// anything, because a model may read it.
func Text(f sandbox.Refusal) string {
	what := fmt.Sprintf("'%s' is closed to it", printable.Escape(f.Path, 200))
	switch {
	case f.Unexplained:
		what = "a program that it ran failed without giving a reason, as one does that is refused a file and does not tell it"
	case f.Variable != "":
		what = "the socket of " + f.Variable + " is closed to it"
	case f.Sockets:
		what = "unix sockets are closed to it"
	case f.KeepsRunning:
		what = fmt.Sprintf("it was started when '%s' was not open; it keeps state, so it is not started again for that", printable.Escape(f.Path, 200))
	case f.Kept:
		what = "what it was refused is closed to all servers, unless a person opens it"
	case f.Access&sandbox.Write != 0:
		what += " for writing"
	}
	return TextPrefix + ", and " + what + ". Ask your user to run `mcphub why`"
}

// A Remedy is what a person can do about a refusal. It is JSON.
type Remedy struct {
	Named string   `json:"named,omitempty"` // who names the path, in words
	Text  string   `json:"text"`            // what to do, or why nothing can be done
	Run   []string `json:"run,omitempty"`   // arguments of mcphub that open what is closed; nil: there is no such command
}

// Told returns the remedy in words.
func (m *Remedy) Told() string {
	switch {
	case m == nil:
		return ""
	case m.Named == "":
		return m.Text
	}
	return m.Named + "; " + m.Text
}

// Record returns the words of the command that records what a server opens beyond its sandbox, with roots, at its start and in calls:
// each names a tool, and its arguments as a JSON object behind the name.
func Record(server string, roots []string, calls ...string) []string {
	flags := append([]string{"--confirm"}, rootFlags(roots)...)
	for _, call := range calls {
		flags = append(flags, "--call", call)
	}
	return printable.BuildCommand("learn", flags, server)
}

// Learn returns the arguments of mcphub that print what a server opens with roots.
func Learn(server string, roots ...string) []string {
	return printable.BuildCommand("learn", rootFlags(roots), server)
}

func rootFlags(roots []string) (words []string) {
	for _, root := range roots {
		words = append(words, "--root", root)
	}
	return words
}

// RemedyFor returns what mends a refusal of a server that serves these directories.
func RemedyFor(server string, f sandbox.Refusal, dirs []string) (m Remedy) {
	switch f.By {
	case sandbox.ByEntry:
		m.Named = "its entry names it" + formatPointer(f.At)
	case sandbox.ByCall:
		m.Named = "the call names it"
	case sandbox.ByNotice:
		m.Named = "the server tried it, and did not make what is there"
	default:
		m.Named = "the server named it; nothing else did"
	}
	records := sandbox.CurrentKernel().Asks()
	again := Record(server, dirs)
	if f.Tool != "" {
		again = Record(server, dirs, f.Tool)
	}
	switch {
	case f.Unexplained && records:
		m.Named, m.Run = "", again
		m.Text = "this starts it once more in its sandbox, makes that call, shows what the kernel refuses, and asks what of that it is to have"
		if f.Tool != "" {
			m.Text += `; write the arguments of the call behind the name of the tool, as in --call 'TOOL {"key":"value"}'`
		}
	case f.Unexplained:
		m.Named, m.Run = "", Learn(server, dirs...)
		m.Text = "this runs it once without a sandbox, and prints what it opens; with --call 'TOOL {...}' what it opens for a call"
	case f.Sockets:
		m.Named = ""
		m.Text = `"sandbox": {"sockets": "on"} in its entry opens them: then it reaches D-Bus, docker and ssh-agent, and through them everything. This prints what it needs; with --call 'TOOL {...}' what it needs for a call`
		m.Run = Learn(server, dirs...)
	case f.KeepsRunning:
		m.Text = `it keeps state, and was not started again when that was opened; "sandbox": {"widen": "restart"} in its entry has it started again each time`
		m.Run = printable.BuildCommand("restart", nil, server)
	case f.Opens == "":
		m.Text = f.Why
		if f.Tool != "" && records { // without it, no one knows what uses the path
			m.Text += "; this makes the call once more in its sandbox, and shows what can be opened for it"
			m.Run = again
		}
	case f.Opens == f.Path, !sandbox.Contains(f.Opens, f.Path):
		m.Text, m.Run = "if it is to have that", Allow(server, f.Access, f.Opens)
	default:
		why := "it makes files beside that"
		if f.By == sandbox.ByServer {
			why = "that is not there"
		}
		m.Text = fmt.Sprintf("if it is to have that: %s, so %s has to be open", why, printable.Escape(f.Opens, 300))
		m.Run = Allow(server, f.Access, f.Opens)
	}
	return m
}

// RestrictionText reports that a server will not get all of what its entry names.
func RestrictionText(server string, n sandbox.Named) string {
	if n.Access&sandbox.Write != 0 {
		return fmt.Sprintf("the kernel lets %s write %s, and make no files beside it, as databases do", server, printable.Escape(n.Path, 300))
	}
	return fmt.Sprintf("the kernel will not let %s open %s: %s", server, printable.Escape(n.Path, 300), n.Why)
}

func formatPointer(pointer string) string {
	if pointer == "" {
		return ""
	}
	return " (" + printable.Escape(pointer, 100) + ")"
}

// Allow returns the arguments of mcphub that open paths to a server.
func Allow(server string, a sandbox.Access, paths ...string) []string {
	return printable.BuildCommand("allow", writeFlag(a), append([]string{server}, paths...)...)
}

// AllowCalls returns the arguments of mcphub that open a path to a server and let calls name it.
func AllowCalls(server string, a sandbox.Access, path string) []string {
	return printable.BuildCommand("allow", append(writeFlag(a), "--calls"), server, path)
}

func writeFlag(a sandbox.Access) []string {
	if a&sandbox.Write == 0 {
		return nil
	}
	return []string{"--write"}
}
