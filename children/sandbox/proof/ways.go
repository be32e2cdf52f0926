package proof

import (
	"fmt"
	"runtime"
	"strings"
)

// A Call is one that a process makes: what it does, and to which paths.
type Call struct{ Do, Path, To string }

// A Way is a call, and what is to come of it. In its paths {in} is the root, {out} a folder beside it, {pid} another process, {up} stands before
// a path in capitals, and {data} is where the volume of data is mounted.
type Way struct {
	Name     string
	Call     Call
	Honest   bool // it must pass
	Optional bool // it need not pass without the profile
}

// subcommand is the argument of the program by which it becomes the one that makes the calls.
const subcommand = "prove-sandbox"

// IsChild reports whether the arguments of the program, without its name, have it make the calls.
func IsChild(args []string) bool {
	return runtime.GOOS == "darwin" && len(args) == 1 && args[0] == subcommand
}

// Withheld returns paths in the root that are withheld. Nothing is at the second.
func Withheld(in string) []string { return []string{in + "/kept/hub.json", in + "/state/hub.json"} }

// Ways returns all ways, in the order in which they are tried.
func Ways() []Way {
	honest := func(name, do string, paths ...string) Way {
		return Way{Name: name, Call: callOf(do, paths), Honest: true}
	}
	out := func(name, do string, paths ...string) Way { return Way{Name: name, Call: callOf(do, paths)} }
	maybe := func(w Way) Way {
		w.Optional = true
		return w
	}
	return []Way{
		honest("reads in the root", "read", "{in}/a"),
		honest("writes in the root", "write", "{in}/b"),
		honest("makes a file in the root", "create", "{in}/made"),
		honest("makes a folder in the root", "mkdir", "{in}/dir"),
		honest("moves in the root", "rename", "{in}/made", "{in}/dir/made"),
		honest("links in the root", "symlink", "a", "{in}/to a"),
		honest("reads by a link in the root", "read", "{in}/to a"),
		honest("links a file in the root", "link", "{in}/b", "{in}/b too"),
		honest("changes a mode in the root", "chmod", "{in}/b"),
		honest("sets an attribute in the root", "setxattr", "{in}/b"),
		honest("removes in the root", "remove", "{in}/dir/made"),
		honest("writes beside what is withheld", "create", "{in}/kept/other"),
		honest("lists the root", "list", "{in}"),
		honest("looks at the folder of the root", "stat", "{in}/.."),
		honest("lists the disk's top", "list", "/"),
		honest("runs a shell", "run", "/bin/sh"),
		maybe(honest("asks whom certificates trust", "look up", "com.apple.trustd.agent")),
		maybe(honest("asks for names of hosts", "connect socket", "/private/var/run/mDNSResponder")),

		out("reads by a path", "read", "{out}/secret"),
		out("writes by a path", "write", "{out}/written"),
		out("makes a file by a path", "create", "{out}/new"),
		out("reads by a link", "read", "{in}/secret"),
		out("makes a file by a link", "create", "{in}/link/new too"),
		out("reads from an open folder", "read below", "{in}", "../out/secret"),
		maybe(out("reads by the path of a firmlink", "read", "{data}{out}/secret")),
		maybe(out("reads by another case", "read", "{up}{out}/secret")),
		out("links a file into the root", "link", "{out}/linked", "{in}/linked"),
		maybe(out("clones a file into the root", "clone", "{out}/cloned", "{in}/cloned")),
		out("moves a file into the root", "rename", "{out}/moved", "{in}/moved"),
		out("moves a file out of the root", "rename", "{in}/a", "{out}/a"),
		maybe(out("swaps two files", "swap", "{in}/b", "{out}/swapped")),
		maybe(out("exchanges what two files hold", "exchange", "{in}/b", "{out}/exchanged")),
		out("reads what is withheld", "read", "{in}/kept/hub.json"),
		maybe(out("reads what is withheld by another case", "read", "{in}/KEPT/Hub.JSON")),
		out("removes what is withheld", "remove", "{in}/kept/hub.json"),
		out("moves the folder of what is withheld", "rename", "{in}/kept", "{in}/kept too"),
		out("makes the folder of what is withheld", "mkdir", "{in}/State"),
		out("changes a mode", "chmod", "{out}/mode"),
		out("changes flags", "chflags", "{out}/flags"),
		out("sets an attribute", "setxattr", "{out}/attribute"),
		out("makes a pipe", "mkfifo", "{out}/pipe"),
		out("runs a program", "run", "{out}/program"),
		out("connects to a socket", "connect socket", "{out}/sock"),
		out("sends a signal", "signal", "{pid}"),
		out("reads the arguments of a process", "process arguments", "{pid}"),
		maybe(out("takes the task of a process", "task", "{pid}")),
		maybe(out("asks the Keychain", "look up", "com.apple.SecurityServer")),
		maybe(out("asks for the pasteboard", "look up", "com.apple.pasteboard.1")),
		maybe(out("asks to open a program", "look up", "com.apple.coreservices.launchservicesd")),
		maybe(out("asks to send events to programs", "look up", "com.apple.coreservices.appleevents")),
		maybe(out("traces a process", "trace", "{pid}")),
		out("moves the root", "rename", "{in}", "{in} too"),
	}
}

func callOf(do string, paths []string) Call {
	paths = append(paths, "")
	return Call{do, paths[0], paths[1]}
}

// Fill returns the call of a way with its paths filled in.
func (w Way) Fill(in, out, pid string) Call {
	fill := func(path string) string {
		path = strings.NewReplacer("{in}", in, "{out}", out, "{pid}", pid, "{data}", "/System/Volumes/Data").Replace(path)
		if upper, is := strings.CutPrefix(path, "{up}"); is {
			path = strings.ToUpper(upper)
		}
		return path
	}
	return Call{w.Call.Do, fill(w.Call.Path), fill(w.Call.To)}
}

// Judge returns nil if what came of each way shows that the profile holds, and else reports why not. free came of them without a profile. Each is ""
// if the way passed, and else an error.
func Judge(ways []Way, free, held []string) error {
	if len(free) != len(ways) || len(held) != len(ways) {
		return fmt.Errorf("of %d calls %d were made without a profile, and %d with one", len(ways), len(free), len(held))
	}
	for i, w := range ways {
		switch {
		case free[i] != "" && !w.Optional:
			return fmt.Errorf("nothing is shown: without a profile, a process that %s fails: %s", w.Name, free[i])
		case free[i] != "":
		case w.Honest && held[i] != "":
			return fmt.Errorf("no server would run: under its profile, a process that %s fails: %s", w.Name, held[i])
		case !w.Honest && held[i] == "":
			return fmt.Errorf("not held: under its profile, a process that %s is not refused", w.Name)
		}
	}
	return nil
}
