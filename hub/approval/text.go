package approval

import (
	"fmt"
	"strings"
)

// questionText returns the question: which server, what it would do with which
// paths, exactly what each answer opens and for how long, and the rule that
// would make it needless. It is the same for the same request, whenever it is
// made.
func questionText(child string, request *EscalatedRequest, p *proposal, perCall bool) string {
	until := "until this session ends"
	if perCall {
		until = "for this one call"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Allow the server %s to run %s?", quoteLegible(child), request.questionTitle())
	if len(p.rules) > 0 {
		fmt.Fprintf(&b, " The policy asks a person first (%s).", quotedNames("rule", p.rules))
	}
	if len(p.paths) > 0 {
		b.WriteString("\n\nThe call names:")
	}
	for _, path := range p.paths {
		path.writeLine(&b)
	}
	if len(p.others) > 0 {
		b.WriteString("\n\nIt also names what needs no approval of its own:")
	}
	for i, path := range p.others {
		if i == maxAskedPaths {
			fmt.Fprintf(&b, "\n- and %d more", len(p.others)-i)
			break
		}
		path.writeLine(&b)
	}
	if p.rule != "" {
		fmt.Fprintf(&b, "\n\nIts arguments are: %s\nIf you allow it, this very call is made, once.", p.args)
	}
	for i := range p.offers {
		p.offers[i].writeOffer(&b, until)
	}
	p.writeAlways(&b, child, request.Name)
	return b.String()
}

// writeOffer reports what choosing an offer opens.
func (offer *answerOffer) writeOffer(b *strings.Builder, until string) {
	if len(offer.grants) == 0 {
		return
	}
	fmt.Fprintf(b, "\n\nIf you answer %q, this server may %s:", offer.choice, until)
	for i := range offer.grants {
		if g := &offer.grants[i]; g.File {
			fmt.Fprintf(b, "\n- %s the file %s, and nothing beside it", g.Roles, quoteLegible(g.Path))
		} else {
			fmt.Fprintf(b, "\n- %s everything in the directory %s, at any depth", g.Roles, quoteLegible(g.Path))
		}
	}
	switch offer.choice {
	case choiceFile:
		b.WriteString("\nThe server is told of no root, so one that keeps to its roots may refuse all the same.")
	case choiceDirectory:
		b.WriteString("\nThe server is told of the directory as one of its roots, as long as that.")
	}
}

// writeAlways reports which rules of hub.json would allow the call
// without a question.
func (p *proposal) writeAlways(b *strings.Builder, child, tool string) {
	lines := p.alwaysRules(child, tool)
	if len(lines) == 0 {
		return
	}
	b.WriteString("\n\nTo allow it always, write into policy.rules of hub.json")
	if len(p.rules) > 0 {
		fmt.Fprintf(b, ", before the rule %s", quoteLegible(clipText(p.rules[0], 100)))
	}
	b.WriteString(":")
	for _, line := range lines {
		b.WriteString("\n" + line)
	}
	switch {
	case p.rule != "":
		b.WriteString("\nThat allows every call of it, whatever paths it names.")
	case !p.plain:
		b.WriteString("\nThat holds where the path is written in full, from the root.")
	}
}

func (asked askedPath) writeLine(b *strings.Builder) {
	fmt.Fprintf(b, "\n- to %s: %s", asked.role, quoteLegible(clipText(asked.leads, 2*longestAsked)))
	if asked.sent != asked.leads {
		fmt.Fprintf(b, ", given as %s", quoteLegible(clipText(asked.sent, 200)))
	}
}

// quotedNames is `rule "a"` or `rules "a", "b"`.
func quotedNames(one string, names []string) string {
	quoted := make([]string, 0, len(names))
	for _, n := range names {
		quoted = append(quoted, quoteLegible(clipText(n, 100)))
	}
	if len(names) > 1 {
		one += "s"
	}
	return one + " " + strings.Join(quoted, ", ")
}
