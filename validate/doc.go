// Package validate answers one question: may this call be dispatched?
//
// # The stages
//
// A call passes them in this order (V10), and each exists because the next one relies on it.
//
//  1. Strict parse ([Checker.Scan]). The arguments are walked once as I-JSON: unique names, valid Unicode, one object,
//     bounded depth and size. Without it two programs could read two different calls from the same bytes, and the one
//     that was judged would not be the one that runs. The bytes that were walked are the bytes to send.
//  2. Schema. The tool's own inputSchema, compiled without loading anything, with ECMA patterns and a budget. It comes
//     before detection so that detection may believe it (an enum is a list of the server's own words).
//  3. Findings. Every string, element and member name at any depth is looked at, keys or no keys; what is a path, in
//     which role, and why, is recorded. This needs no roots, so a call without paths never waits for them.
//  4. Protected paths ([Checker.Judge]). The hub's own configuration and records come before any rule that could open
//     them.
//  5. Boundary. Each finding is read in every way that the child or the kernel might read it, and every reading must
//     lie inside. Before the boundary has its say the rules of the policy are asked (below).
//  6. Decision. One finding outside denies the call. The zero value of everything that decides denies.
//  7. Spelling. What an allowed call has to be sent with instead, where its server needs another spelling (below).
//
// # Rules
//
// A [Policy] holds rules in order. A finding takes the first that matches it, a call the strictest of its findings, and a
// call without any the first rule that asks nothing of paths. Rules are asked about candidates: the absolute paths that a
// finding may stand for, each with its three readings (as written, as the kernel follows it, cleaned and then followed).
// One that denies or escalates matches where any reading of any candidate does, one that allows where all of all do.
//
//   - What is protected, outside a token's ceiling or cannot be resolved is denied before any rule.
//   - What a rule that escalates does not match is decided without it, and where that is denied so is the finding. So no
//     [Grant] lifts a denial, and nobody is asked in vain.
//   - Where no rule matches, each candidate has to be inside the boundary or what some rule allows.
//   - Deleting or moving a directory that holds that of a rule which denies or escalates counts as touching it.
//   - Relative names that count only where a link leads them outside count as well where they lie in such a directory.
//   - A directory that only a rule or a grant serves is a start for relative paths where something is there to be opened,
//     or the folder to make it in is, or where the call names it.
//
// A rule's directory is looked up when the policy is read, as a root is, and compared by the same index: twenty rules cost
// one look. One that was not there then is looked up again at each call by rules that deny or escalate.
//
// # Two names in one object
//
// Member names that are equal under Unicode case folding (path, Path) are two members to one parser and one to
// another. Where the tool's schema or a declaration names one of the two, the call is refused. Where it names neither
// (environment variables, headers, files) or both (-a and -A), both are judged like any other member. A single name in
// another letter case than the declared one is judged as the declared one, and never exempted as it.
//
// # Roots with odd names
//
// A root may be called [x], $HOME, %41 or My Project. Its text at the beginning of a path is read as itself, in the one way
// that keeps calls below it possible, where the filesystem holds nothing by any other reading of it; what follows it is read
// in every way. Pieces of a list or of a quoted shell word that end within its name are no paths, likewise where nothing is
// there.
//
// # Backslashes
//
// On POSIX a backslash is an ordinary character of a file name, and a separator to programs that were written for both
// systems. Both readings must lie inside. Drives and network shares are refused there: no root contains them.
//
// # Shell strings
//
// A shell string is read by mvdan.cc/sh/v3/syntax, as bash forms its words, and those are once more split at whatever may end
// a path for another program. An upper bound of the stack that the parser may take is counted first. What it refuses is split
// at blanks and quotes, and judged by the strictest reading. What cd does is followed: where nothing can have kept it from
// leading to x (cd x && y; cd x; y with an x that is there), y starts from x alone, otherwise from every directory it may
// start from. Where something may have gone to a directory that nobody can tell (cd "$x", a program that the table does not
// know), what climbs is looked for in every directory above that it can reach, as far as something is there.
//
// Package validate/shell reads them, and knows from a table what programs make of their words. Here it is judged whether
// a word leads outside, and what a pattern matches. TestAgainstTheShell holds all of it against what a real shell prints.
//
// # Words inside other strings
//
// Every string that is neither prose nor one path is read for words that name something outside (rule 8 of the
// contract), whatever its language: no statement, verb or dialect is recognised. A word ends at quotes, brackets, commas
// and blanks, and counts where it has two components or more and leads outside to what is there, or could be made because its
// directory is there and may be written to. Keys of queries are judged by that alone. The strings of content keys
// are exempt, but for whole file: URIs, "@" and a path, and the headers of patches.
//
// # Depth and work
//
// Whatever recurses here reads only what was counted before by something that does not: the strict walk counts the
// arguments, and what only some parsers take for JSON is counted while it is made standard. A schema that nests too
// deeply quarantines its tool. One budget, of work and not of time, pays for every string that is kept, every way to read it,
// every look at the disk and every schema applied to a value; where it is spent the call is refused. Its arguments may
// be as long as they like where they are content. Within a call each place on disk is looked at once.
//
// # Routes
//
// The path of a JSON patch or beside an HTTP method is judged like the value of any other argument: it is a path where its
// first component is there, where it climbs, or where a link leads it out.
//
// # Rewriting
//
// What is sent is what was judged: the bytes that were scanned. A server that cannot take a path as it was sent has a
// profile that says so, and [Verdict.Rewrites] then names the strings to replace, by their bytes. There are two reasons.
// "file-uri": the server takes plain paths only, so a file URI with exactly one reading becomes that path.
// "resolved-root": the server compares text with its resolved roots, so the spelling in which a root was given
// ([rootsmgr.Root], Given) becomes its Path. The rest of the path is neither cleaned nor resolved.
//
// Only whole string values are rewritten that a declaration, a profile or their names make paths; never member names,
// parts of lists, words of shell strings or what stands in JSON inside a string, never URIs of resources or arguments of
// prompts, and nothing where no boundary is known or the mode is "off". A value with blanks or quotes around it is not
// one path to everybody, and a container has paths of its own: their roots are left as they are spelled.
//
// The call with its new strings is searched, judged and held against the tool's schema again as a whole, and a new root must lead to the same place as
// the old one, with links followed before ".." and after it. Where that fails for a root, the call goes out as it came,
// which was judged; the server may refuse it. Where it fails for a file URI, the call is denied: a server that takes
// only paths would open the URI as a relative name, which nobody has judged.
//
// A call with rewrites costs about three looks at the disk for one.
//
// # Concurrency
//
// A [Checker], a [Tool] and a [Scan] are immutable and may be used by any number of goroutines; there are no locks and
// no goroutines here. Nothing is cached between calls: a symbolic link may be swapped between two of them.
//
// # What no check can promise
//
// Shell strings. The words of a command are scanned for paths that lead outside, which stops accidents and the plain
// attempts. A shell has variables, substitutions, here-documents and a whole language to build a path from; nobody can
// read that out of its text. A tool that takes shell strings should be excluded, escalated to a human, or confined by
// the kernel.
//
// Capability laundering. The effect of a tool is not in its arguments: one that runs the project's tests runs whatever
// the project says. Judging arguments limits what a benign server is asked to do, not what a program may do.
//
// Races. A path is judged at dispatch and opened later, by another process. Between the two a link can be swapped. Hard
// links and bind mounts cannot be seen at all (a hard link to a protected file is). Where the kernel can enforce a
// boundary, it should be given the same one.
//
// It refuses to guess in the other direction: what cannot be resolved is denied, never taken for harmless.
package validate
