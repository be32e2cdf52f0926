package childtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// handleSkills serves the extension for skills to a child with Script.Skills: a skill for each SKILL.md, two on a page, and all
// files as resources.
func (p *player) handleSkills(m message) bool {
	var params struct{ URI, Cursor string }
	_ = json.Unmarshal(m.Params, &params)
	uris := slices.Sorted(maps.Keys(p.s.Skills))
	resource := func(uri string) string {
		return fmt.Sprintf(`{"uri":%q,"name":%q,"mimeType":"text/markdown"}`, uri, path.Base(uri))
	}
	text, found := p.s.Skills[params.URI]
	switch m.Method {
	case "skills/list":
		var entries []string
		for _, uri := range uris {
			if strings.HasSuffix(uri, "/SKILL.md") {
				entries = append(entries, p.skillEntry(uri))
			}
		}
		at := 0
		_, _ = fmt.Sscan(params.Cursor, &at)
		next := ""
		if at+2 < len(entries) {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, at+2)
		}
		p.answerRaw(m.ID, fmt.Sprintf(`{"skills":[%s]%s}`, strings.Join(entries[at:min(at+2, len(entries))], ","), next))
	case "skills/get":
		if !found || !strings.HasSuffix(params.URI, "/SKILL.md") {
			p.sendError(m.ID, -32602, "no skill is served there")
			return true
		}
		p.answerRaw(m.ID, fmt.Sprintf(`{"skill":%s}`, p.skillEntry(params.URI)))
	case "resources/list":
		var entries []string
		for _, uri := range uris {
			entries = append(entries, resource(uri))
		}
		p.answerRaw(m.ID, fmt.Sprintf(`{"resources":[%s]}`, strings.Join(entries, ",")))
	case "resources/templates/list":
		p.answerRaw(m.ID, `{"resourceTemplates":[]}`)
	case "resources/read":
		if !found {
			p.sendError(m.ID, -32602, "no such resource")
			return true
		}
		b, _ := json.Marshal(text)
		p.answerRaw(m.ID, fmt.Sprintf(`{"contents":[{"uri":%q,"mimeType":"text/markdown","text":%s}]}`, params.URI, b))
	case "resources/directory/read":
		var entries []string
		for _, uri := range uris {
			if rest, ok := strings.CutPrefix(uri, params.URI+"/"); ok {
				entry := resource(uri)
				if folder, _, deeper := strings.Cut(rest, "/"); deeper {
					entry = fmt.Sprintf(`{"uri":%q,"name":%q,"mimeType":"inode/directory"}`, params.URI+"/"+folder, folder)
				}
				if !slices.Contains(entries, entry) {
					entries = append(entries, entry)
				}
			}
		}
		if entries == nil {
			p.sendError(m.ID, -32602, "no directory")
			return true
		}
		p.answerRaw(m.ID, fmt.Sprintf(`{"resources":[%s]}`, strings.Join(entries, ",")))
	default:
		return false
	}
	return true
}

// skillEntry returns the entry of the skill that has its SKILL.md there.
func (p *player) skillEntry(uri string) string {
	folder := strings.TrimSuffix(uri, "SKILL.md")
	var files []string
	for _, file := range slices.Sorted(maps.Keys(p.s.Skills)) {
		if strings.HasPrefix(file, folder) {
			files = append(files, fmt.Sprintf(`{"uri":%q,"digest":"sha256:%x","size":%d}`, file, sha256.Sum256([]byte(p.s.Skills[file])), len(p.s.Skills[file])))
		}
	}
	return fmt.Sprintf(`{"uri":%q,"frontmatter":{"name":%q,"description":"\u202eodd\u001b[1m","n":1.0},"resources":[%s]}`,
		uri, path.Base(strings.TrimSuffix(folder, "/")), strings.Join(files, ","))
}
