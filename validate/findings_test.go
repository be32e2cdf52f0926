package validate

import (
	"fmt"
	"slices"
	"strings"

	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/names"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// This file is docs/findings.md: what every code, every way to recognise a path and every rewriting means to a person.

// rewritings explains them.
var rewritings = []struct{ word, meaning string }{
	{declare.RewriteFileURI, "the server takes plain paths only: a file URI with exactly one reading is sent as that path. Any other is denied as `" + CodeBadURI + "`"},
	{declare.RewriteResolvedRoot, "the server compares paths with its resolved roots. If a path begins with a root as the client spelled it, that beginning is sent resolved, and the rest unchanged"},
}

// codeInfo explains one code to a person.
type codeInfo struct {
	Code    string
	Stage   string // arguments, schema, allowed, rule, outside, protected, unresolvable
	Meaning string
	Example string
	Cure    string
}

// codes is every code there is, in the order of the stages.
var codes = []codeInfo{
	{strictjson.CodeSyntax, "arguments", "The arguments are not one JSON value.", `{"path": "a",}`, "Send well-formed JSON: no comments, no trailing commas, nothing after the object."},
	{strictjson.CodeNotObject, "arguments", "The arguments are JSON, but no object of named arguments.", `["a.txt"]`, "Send an object, or leave the arguments out."},
	{strictjson.CodeDuplicate, "arguments", "A member name occurs twice in one object. Parsers disagree on which one counts, so what was judged might not be what is read.", `{"path": "a", "path": "/etc/passwd"}`, "Send each name once."},
	{strictjson.CodeFolded, "arguments", "Two member names differ in letter case only, and the tool declares one of them. A parser that ignores case would take them for one. Or the tool's schema forbids a member whose name differs from a declared one only in letter case, hyphens or underscores.", `{"path": "a", "Path": "b"}`, "Send the declared spelling alone."},
	{strictjson.CodeName, "arguments", "A member name holds a NUL character, at which some parsers cut it.", `{"path\u0000": "a"}`, "Leave the character out."},
	{strictjson.CodeText, "arguments", "A string is not valid Unicode: invalid UTF-8, or half a surrogate pair.", `{"path": "\ud800"}`, "Send valid Unicode."},
	{strictjson.CodeTooDeep, "arguments", "Objects and arrays are nested too deeply, counting JSON inside strings (limits.depth in hub.json).", `{"a": {"a": {"a": ... }}}`, "Send flatter arguments, or raise limits.depth."},
	{strictjson.CodeTooLarge, "arguments", "More bytes, values or paths than one call may have.", `{"paths": [ ... 100,000 of them ... ]}`, "Split the call."},
	{strictjson.CodeNumber, "arguments", "A number so long, or with such an exponent, that no program reads it exactly and comparing it is costly.", `{"n": 1e999999}`, "Send a number that fits a double."},
	{schema.CodeViolation, "schema", "The arguments do not fit the tool's own inputSchema. If `arguments` of the entry is lenient, they do not fit by a lenient reading either.", `{"path": 5} where a string is wanted`, "Follow the message: it names the argument and what is wanted there."},
	{schema.CodeBudget, "schema", "Checking the arguments against the tool's schema costs more than one call may. The schema's patterns, references or choices cause that.", `a pattern like ^(a+)+$ and a long string of a`, "Send smaller arguments, or ask the server's author for a simpler schema."},
	{CodeInside, "allowed", "Every reading of the path lies inside the boundary.", `{"path": "src/main.go"}`, "Nothing to do."},
	{CodeInsideResource, "allowed", "Every reading of the URI lies at or below a prefix of roots.resources.", `{"url": "https://api.example.com/v1/users"} with the prefix https://api.example.com/v1/`, "Nothing to do."},
	{CodeNullDevice, "allowed", "A device that is always inside: /dev/null; /dev/stderr to write; /dev/zero, /dev/random and /dev/urandom to read.", `{"output": "/dev/null"}`, "Nothing to do."},
	{CodeOpen, "allowed", "The path is in no root, but no boundary is known, and roots.when in hub.json allows that.", `{"path": "/etc/hosts"} from a client without roots`, "To have a boundary, use a client that gives roots, or set --roots or roots.fallback."},
	{CodeRuleAllow, "allowed", "The policy's first rule for this path allows it: every reading of the path matches the rule.", `{"path": "~/Documents/a.txt"} with a rule that allows reading within ~/Documents`, "Nothing to do. To close it, change the rule, or put one that denies before it."},
	{CodeGranted, "allowed", "The policy's first rule for this path asks a human, and one has allowed it in this session.", `{"path": "/etc/hosts"} after the question about it was accepted`, "Nothing to do: get-roots lists what was granted, and it ends with the session."},
	{CodeRuleDeny, "rule", "The policy's first rule for this path denies it: some reading of the path matches the rule.", `{"path": "~/project/secrets/key"} with a rule that denies all within ~/project/secrets`, "Change the rule in hub.json, or put one that allows before it. No grant lifts it."},
	{CodeRuleEscalate, "rule", "The policy's first rule for this path asks a human, and none has allowed it.", `{"path": "/etc/hosts"} with a rule that escalates reading outside`, "Answer the question in the client. Where the client cannot ask, see approval.from in hub.json."},
	{CodeOutside, "outside", "Some reading of the path lies outside every root.", `{"path": "/etc/passwd"}`, "Open the folder in the client. If the argument is no path of this machine, declare it in hub.json; the denial prints the line."},
	{CodeOutsideLink, "outside", "The path is written inside the boundary, but a symbolic link on the way leads out.", `{"path": "link/passwd"} where link points to /etc`, "Open the folder that the link leads to, or remove the link."},
	{CodeOutsideResource, "outside", "The scheme of the URI has prefixes, and some reading of the URI lies below none of them, or programs read it differently. The prefixes are roots.resources of hub.json and, with roots.clientResources, the client's roots.", `{"url": "https://evil.example/"} with the prefix https://api.example.com/v1/`, "Name a URI below a prefix, spelled plainly; or add its prefix to roots.resources. The denial prints the line."},
	{CodeUnmapped, "outside", "The child runs in a container that mounts nothing of this machine at that path.", `{"path": "/srv/x"} with only -v /home/me/p:/projects`, "Use the container's path of the project (/projects/...), or mount the directory."},
	{CodeRootsUnsupported, "outside", "The client cannot give roots, no fallback is configured, and roots.when.unsupported is \"deny\"; or it shows a token, and http.when.noRoots is.", `any path`, "Start mcphub with --roots, set MCPHUB_ROOTS or roots.fallback."},
	{CodeRootsEmpty, "outside", "The client answered that no folder is open, and roots.when.empty is \"deny\".", `any path, from an editor's empty window`, "Open a folder in the client."},
	{CodeRootsFailed, "outside", "The client declared roots but gave none that can be used, and roots.when.failed is \"deny\".", `any path`, "Reconnect the client; get-roots says what went wrong. Set roots.fallback for such clients."},
	{CodeCeiling, "outside", "The path lies outside the directories of the client's token (http.tokens in hub.json). No root, rule or grant opens it.", `{"path": "/srv/bob"} from a client whose token has the roots ["/srv/alice"]`, "Add the directory to the roots of the token in hub.json."},
	{CodeProtected, "protected", "The path is protected, or lies below a protected directory: hub.json, the hub's own folders, policy.protected. No rule and no root opens it.", `{"path": "hub.json"}`, "Edit the file by hand, outside the hub."},
	{CodeProtectedBelow, "protected", "The call writes to or deletes a directory that holds a protected path.", `move_file of the folder with hub.json in it`, "Name the file or directory to change, not one above it."},
	{CodeUnresolvable, "unresolvable", "It cannot be told where the path leads: there is a loop of links, a name that is too long, or a link that cannot be read.", `{"path": "loop/x"}`, "Use another path."},
	{CodePermission, "unresolvable", "The hub may not search a directory on the way, so it cannot tell where the path leads.", `{"path": "/root/x"} as an ordinary user`, "Use a path you may read."},
	{CodeMagic, "unresolvable", "The path means something else in the child than in the hub (/proc/self, /dev/fd), or names a device.", `{"path": "/proc/self/root/etc/passwd"}`, "Use the plain path."},
	{CodeNUL, "unresolvable", "The path holds a NUL character.", `{"path": "a\u0000b"}`, "Leave the character out."},
	{CodeBadURI, "unresolvable", "A file URI that programs read differently or not at all. Or the server takes only plain paths, and the URI does not certainly mean one.", `file:///a%zz`, "Send a plain path, or a well-formed file:/// URI."},
	{CodeForeignHost, "unresolvable", "A file URI that names another host. On Windows also a path on another machine that no root names, or a link to one. The hub does not look there.", `file://server/share/x`, "Write file:/// with three slashes for a local file. Make a directory of that share a root."},
	{CodeForeignForm, "unresolvable", "A path in the form of another system, such as a drive or a network share on Linux.", `{"path": "C:\\Users\\me"} on Linux`, "Use a path of this machine."},
	{CodeGlob, "unresolvable", "A component after a wildcard can be \"..\", or a pattern has too many alternatives to judge.", `src/*/../../../etc/*`, "Write the pattern without \"..\" after the first wildcard."},
	{CodeNoBase, "unresolvable", "The path is relative, and nothing says which directory it starts from.", `{"path": "a.txt"} to a server on another host`, "Send an absolute path, or set cwd for the server in hub.json."},
	{CodeNoHome, "unresolvable", "The path starts from the home folder, which is not known.", `{"path": "~/x"} where HOME is unset`, "Send an absolute path."},
	{CodeBudget, "unresolvable", "Too many paths and starting directories to combine in one call.", `1,000 relative paths beside 1,000 directories`, "Split the call, or send absolute paths."},
}

// explain finds the entry of a code; ok is false for a code there is none of.
func explain(code string) (info codeInfo, ok bool) {
	i := slices.IndexFunc(codes, func(c codeInfo) bool { return c.Code == code })
	if i < 0 {
		return codeInfo{}, false
	}
	return codes[i], true
}

// hows explains the values of Finding.How.
var hows = []struct{ how, meaning string }{
	{detect.HowDeclared, "the operator declared the argument in hub.json"},
	{detect.HowProfile, "the built-in profile of the server declares it"},
	{schema.HowFormat, "the tool's schema gives it a path format (path, file-path, directory-path)"},
	{detect.HowKey, "the argument's name says so: a word of it, or the end of one, is a path word"},
	{schema.HowDescription, "its description in the tool's schema begins with words such as \"path of the file\""},
	{detect.HowDefault, "the argument is absent, and its default in the schema is a path"},
	{detect.HowHeader, "the header of a patch names it"},
	{detect.HowMember, "a member name below a path-like argument, or one that is a path itself"},
	{detect.HowAbsolute, "the whole value is absolute, and its first component exists on this machine"},
	{detect.HowHome, "it starts from a home folder: ~, ~user, $HOME"},
	{detect.HowDrive, "it starts with a drive"},
	{detect.HowUNC, "it names a network share or a device"},
	{detect.HowClimbs, "it has a \"..\" segment"},
	{detect.HowFileURI, "it is, or contains, a file: URI"},
	{detect.HowScheme, "its scheme carries a path: sqlite:, duckdb:, unix:, vscode://file"},
	{detect.HowTail, "what follows \"=\", \"@\", a ref's colon or a short flag is a path"},
	{detect.HowList, "one part of a joined list is a path"},
	{detect.HowShell, "a word of a shell string; it counts only if it leads outside and exists or could be created"},
	{detect.HowLiteral, "a word inside a longer string (SQL, YAML, a template); it counts only if it names something outside"},
	{detect.HowLink, "a relative name; it counts only if a symbolic link leads it outside, or if it is protected or in the directory of a rule"},
	{detect.HowURI, "the URI of a resource, or a variable of its template"},
	{detect.HowResource, "it is a URI of a scheme that has prefixes (roots.resources), under an argument of URIs"},
}

// findingsDoc is docs/findings.md: generated, so that it names every code.
func findingsDoc() string {
	var b strings.Builder
	b.WriteString("# Findings\n\nGenerated from validate/findings_test.go; change it there.\n\n" +
		"`mcphub explain TOOL ARGS` prints one finding for each path in a call. A finding says where the path is in the arguments and\n" +
		"how it was recognised. It lists every way a server may read the path, with the place that each leads to. It ends with one of\n" +
		"the codes below.\n")
	stages := []struct{ name, title string }{
		{"arguments", "The arguments were refused (-32602)"},
		{"schema", "The arguments do not fit the tool's schema"},
		{"allowed", "Allowed"},
		{"rule", "Denied, or asked about: a rule of the policy"},
		{"outside", "Denied: outside the boundary"},
		{"protected", "Denied: protected, whatever the policy says"},
		{"unresolvable", "Denied: it cannot be told where the path leads"},
	}
	for _, s := range stages {
		fmt.Fprintf(&b, "\n## %s\n", s.title)
		for _, c := range codes {
			if c.Stage == s.name {
				fmt.Fprintf(&b, "\n### `%s`\n\n%s\n\n- Example: `%s`\n- Cure: %s\n", c.Code, c.Meaning, c.Example, c.Cure)
			}
		}
	}
	b.WriteString("\n## How a string is recognised\n\n| how | meaning |\n|---|---|\n")
	for _, h := range hows {
		fmt.Fprintf(&b, "| `%s` | %s |\n", h.how, strings.ReplaceAll(h.meaning, "|", "\\|"))
	}
	b.WriteString("\n## What is sent in another spelling\n\nThe hub sends what it judged. Some servers need a path spelled in another way; their built-in profiles say `rewrite`. The new\n" +
		"text is judged too, with the rest of the call, and leads to the same place. The audit line and `mcphub explain` name each\n" +
		"string that was changed, and why. Nothing is rewritten if no boundary is known, or if paths.mode is \"off\".\n\n| why | meaning |\n|---|---|\n")
	for _, r := range rewritings {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.word, r.meaning)
	}
	b.WriteString("\n## The word lists\n\nKeys are split into words at capitals, underscores and hyphens. Letters are compared under Unicode case folding.\n\n")
	list := func(title string, words []string) {
		fmt.Fprintf(&b, "- %s: `%s`\n", title, strings.Join(words, ", "))
	}
	list("Path words, alone or as the end of a word", names.PathWords)
	list("Words that end like a path word but are none", sorted(names.NotPathWords))
	list("Free text, as the last word. Strings are exempt, objects below it are not", sorted(names.ContentWords))
	list("Code, as the last word. Exempt like free text", sorted(names.CodeWords))
	list("Search patterns, as the last word. Exempt like free text", sorted(names.MatchWords))
	list("Free text if another key of the same object ends with replace, replacement or new. The value of that key is free text too", sorted(names.ReplacedWords))
	list("Free text before string or str (old_string)", sorted(names.EditWords))
	list("Free text before source if the value has several lines (cell_source)", sorted(names.CellWords))
	list("Queries, as the last word. Only words that name something outside count, even if such a word is the whole value", sorted(names.QueryWords))
	list("Programs. A value that is a program of the system is no path", sorted(names.ProgramKeys))
	list("Texts of patches. The paths in their headers count", sorted(names.PatchWords))
	list("Stop words, as the last word. The name alone does not make the value a path", sorted(names.StopWords))
	list("Shell strings, as the last word", sorted(names.ShellWords))
	list("Argument vectors, as the last word", sorted(names.VectorWords))
	list("Typed into a running program, as the last word", sorted(names.StreamWords))
	list("The same, if the name of the tool speaks of a terminal, a process or the like", sorted(names.InputWords))
	list("Keys of URIs for roots.resources, any word", sorted(names.URIWords))
	list("The same, as the end of a word", names.URIEnds)
	return b.String()
}

func sorted(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for w := range set {
		list = append(list, w)
	}
	slices.Sort(list)
	return list
}
