package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
)

// This file is about skills (the extension io.modelcontextprotocol/skills): folders of resources, known by the URI of their
// SKILL.md. A URI is one server's. What two claim is served below the name of each, and so are all files of that skill. One that had it
// when the other one came keeps it.

const (
	skillScheme = "skill://"
	skillFile   = "/SKILL.md"
)

// Bounds of what one server may claim while the hub runs, and of what all may.
const (
	maxClaimed    = 1 << 10       // bytes of a URI
	deepestClaim  = 16            // slashes of a URI
	claimCost     = 3 << 8        // bytes that a folder of a claim is taken to hold beside its URI
	allClaims     = 64 << 20      // bytes that all claims together are taken to hold
	ownClaims     = allClaims / 2 // those of one server
	tooManyClaims = "this server has named more skills since the hub was started than it keeps apart: restart the hub"
	tooManyOfAll  = "all servers together have named more skills since the hub was started than it keeps apart: restart the hub"
)

// SkillURIs say whose a URI of a skill is, and how it is called towards clients. What was decided once stays while the hub runs,
// whichever servers come and go: the one who comes later takes over no URI, and no URI changes. Of servers that come together each has
// what it claims below its name. So no order decides, neither the order of the configuration nor the order of arrival: a hub that starts
// with what servers offered last gives no URI to another server than the hub before it. Its mutex is a leaf.
type SkillURIs struct {
	mu     sync.RWMutex
	wanted map[string]map[string]bool             // by a URI of theirs, the children that claim it; true: with all below it
	within map[string]map[string]struct{}         // by a folder, the children that claim something in it
	names  map[string]map[string]string           // towards the client; by child, by the child's own URI
	whose  map[string]claim                       // by the URI towards the client
	below  map[string]map[ResourceSource]struct{} // by a folder towards the client: what it would have to be for claims below it; URI "": it can be nothing
	others map[string]bool                        // children with URIs that are called otherwise
	held   int                                    // bytes, as of claimCost
	heldOf map[string]int                         // of them, by child
}

// A claim is a URI of a child.
type claim struct {
	ResourceSource
	folder bool // and all below it
}

// NewSkillURIs makes one if no one has claimed anything.
func NewSkillURIs() *SkillURIs {
	return &SkillURIs{wanted: map[string]map[string]bool{}, within: map[string]map[string]struct{}{}, names: map[string]map[string]string{}, whose: map[string]claim{}, below: map[string]map[ResourceSource]struct{}{}, others: map[string]bool{}, heldOf: map[string]int{}}
}

// listClaims returns what an offer claims: the folders of its skills, the outer ones first, and then what else it lists with the scheme
// of skills. A skill with another scheme claims nothing, because its folder may hold what belongs to others.
func (o *Offer) listClaims() (all []claim) {
	for _, it := range o.items[offers.Skills] {
		if !hasScheme(it.OwnName, skillScheme) {
			continue
		}
		at, folder := strings.CutSuffix(it.OwnName, skillFile)
		if folder = folder && len(at) > len(skillScheme); !folder { // one without a name is in no folder
			at = it.OwnName
		}
		all = append(all, claim{ResourceSource{o.child, at}, folder})
	}
	slices.SortStableFunc(all, func(a, b claim) int { return len(a.URI) - len(b.URI) })
	for _, it := range o.items[offers.Resources] {
		if hasScheme(it.OwnName, skillScheme) {
			all = append(all, claim{ResourceSource{o.child, it.OwnName}, false})
		}
	}
	return all
}

// claimAll decides whose these URIs are, if that is not decided. all are of the servers that are known by now. A URI that begins with the
// name of another server is called after its own: people take it for the other's. The ones that no one can keep apart are refused, by the
// child and its own URI, with the reason.
func (s *SkillURIs) claimAll(all []claim, isServer func(name string) bool) (refused map[string]map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused = map[string]map[string]string{}
	var undecided []claim
	for _, c := range all {
		if s.isWanted(c.ResourceSource) {
			continue
		}
		reason := ""
		switch {
		case len(c.URI) > maxClaimed || strings.Count(c.URI, "/") > deepestClaim:
			reason = fmt.Sprintf("its URI has more than %d bytes, or more than %d folders", maxClaimed, deepestClaim)
		case s.heldOf[c.Child]+costOf(c.URI) > ownClaims:
			reason = tooManyClaims
		case s.held+costOf(c.URI) > allClaims:
			reason = tooManyOfAll
		}
		if reason == "" {
			s.noteClaim(c)
			undecided = append(undecided, c)
			continue
		}
		if refused[c.Child] == nil {
			refused[c.Child] = map[string]string{}
		}
		refused[c.Child][c.URI] = reason
	}
	for _, c := range undecided {
		s.decideName(c, isServer)
	}
	return refused
}

// isWanted reports whether a child claims a URI of its own, or a folder that it is in. mu is held.
func (s *SkillURIs) isWanted(at ResourceSource) bool {
	if _, ok := s.wanted[at.URI][at.Child]; ok {
		return true
	}
	for folder := range foldersOf(at.URI) {
		if s.wanted[folder][at.Child] {
			return true
		}
	}
	return false
}

// isClaimed reports whether some child claims a URI by its own name for it, or a folder that it is in.
func (s *SkillURIs) isClaimed(uri string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.wanted[uri]) > 0 {
		return true
	}
	for at := range foldersOf(uri) {
		for _, folder := range s.wanted[at] {
			if folder {
				return true
			}
		}
	}
	return false
}

// noteClaim remembers a claim. mu is held.
func (s *SkillURIs) noteClaim(c claim) {
	if s.wanted[c.URI] == nil {
		s.wanted[c.URI] = map[string]bool{}
	}
	s.wanted[c.URI][c.Child] = c.folder
	for at := range foldersOf(c.URI) {
		if s.within[at] == nil {
			s.within[at] = map[string]struct{}{}
		}
		s.within[at][c.Child] = struct{}{}
	}
	s.held += costOf(c.URI)
	s.heldOf[c.Child] += costOf(c.URI)
}

// isContested reports whether another child claims, or has claimed, the URI of a claim, a folder that it is in, or something below it. mu is held.
func (s *SkillURIs) isContested(c claim) bool {
	for other := range s.wanted[c.URI] {
		if other != c.Child {
			return true
		}
	}
	for at := range foldersOf(c.URI) {
		for other, folder := range s.wanted[at] {
			if folder && other != c.Child {
				return true
			}
		}
	}
	for other := range s.within[c.URI] {
		if c.folder && other != c.Child {
			return true
		}
	}
	return false
}

// costOf returns what a claim is taken to hold: each folder that it is in has a place for it.
func costOf(uri string) int { return (strings.Count(uri, "/") + 1) * (len(uri) + claimCost) }

// looksAddressed reports a URI that would be taken for one below the name of a server: of another one, or of its own if that
// claims what such a URI stands for. mu is held.
func (s *SkillURIs) looksAddressed(c claim, isServer func(name string) bool) bool {
	server, rest, ok := cutServer(skillScheme, c.URI)
	if !ok || server != c.Child {
		return ok && isServer(server)
	}
	_, below := s.within[rest][server]
	return below || s.isWanted(ResourceSource{server, rest})
}

// decideName gives a URI its name. mu is held.
func (s *SkillURIs) decideName(c claim, isServer func(name string) bool) {
	name := c.URI
	if s.isContested(c) || s.looksAddressed(c, isServer) {
		name = serverSkillURI(c.Child, name)
	}
	for size := markSize - 1; s.isTaken(c, name); size++ {
		child := c.Child
		if size >= markSize { // someone else has the name of this server in a URI
			child += "-" + makeMark(c.Child, c.URI, size)
		}
		name = serverSkillURI(child, c.URI)
	}
	if s.names[c.Child] == nil {
		s.names[c.Child] = map[string]string{}
	}
	s.names[c.Child][c.URI] = name
	s.whose[name] = c
	s.others[c.Child] = s.others[c.Child] || name != c.URI
	for at := range foldersOf(name) {
		if s.below[at] == nil {
			s.below[at] = map[ResourceSource]struct{}{}
		}
		folder, ok := strings.CutSuffix(c.URI, name[len(at):])
		if !ok {
			folder = ""
		}
		s.below[at][ResourceSource{c.Child, folder}] = struct{}{}
	}
}

// isTaken reports whether another claim is in the way of a name: at it, above it, or below a folder. One of the same child is
// not if it means the same by the name.
func (s *SkillURIs) isTaken(c claim, name string) bool {
	if at, ok := s.findSource(name); ok && at != c.ResourceSource {
		return true
	}
	if !c.folder {
		return false
	}
	for folder := range s.below[name] {
		if folder != c.ResourceSource {
			return true
		}
	}
	return false
}

// findClaim returns the claim that a URI towards the client is under. mu is held.
func (s *SkillURIs) findClaim(uri string) (claim, bool) {
	if c, ok := s.whose[uri]; ok {
		return c, true
	}
	for at := range foldersOf(uri) {
		if c, ok := s.whose[at]; ok && c.folder {
			return c, true
		}
	}
	return claim{}, false
}

// nameFor returns what a child's URI was named, or a folder that it is in. mu is held.
func (s *SkillURIs) nameFor(at ResourceSource) (name string, ok bool) {
	names := s.names[at.Child]
	if len(names) == 0 {
		return "", false
	}
	if name, ok := names[at.URI]; ok {
		return name, true
	}
	for folder := range foldersOf(at.URI) {
		if name, ok := names[folder]; ok && s.whose[name].folder {
			return name + at.URI[len(folder):], true
		}
	}
	return "", false
}

// foldersOf returns the folders that a URI is in, the innermost first; none that is longer than what can be claimed.
func foldersOf(uri string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		_, rest, ok := strings.Cut(uri[:min(len(uri), maxClaimed+1)], "://")
		root := len(uri[:min(len(uri), maxClaimed+1)]) - len(rest)
		for end := root + len(rest); ok; {
			i := strings.LastIndexByte(uri[root:end], '/')
			if i < 0 {
				return
			}
			if end = root + i; !yield(uri[:end]) {
				return
			}
		}
	}
}

// Source returns the child that a URI towards the client belongs to, and its own URI; false if no one has claimed it.
func (s *SkillURIs) Source(uri string) (ResourceSource, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.findSource(uri)
}

// findSource works like Source for callers that hold mu.
func (s *SkillURIs) findSource(uri string) (ResourceSource, bool) {
	c, ok := s.findClaim(uri)
	if !ok {
		return ResourceSource{}, false
	}
	name := s.names[c.Child][c.URI]
	return ResourceSource{c.Child, c.URI + uri[len(name):]}, true
}

// Name returns what a child's URI is called towards the client. One that another has claimed gets the name of its server.
func (s *SkillURIs) Name(child, uri string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if name, ok := s.nameFor(ResourceSource{child, uri}); ok {
		return name
	}
	if c, ok := s.findClaim(uri); ok && c.Child != child {
		return serverSkillURI(child, uri)
	}
	return uri
}

// renamedChildren returns the children with URIs that are called otherwise. any: something is claimed at all.
func (s *SkillURIs) renamedChildren() (children map[string]bool, any bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.others), len(s.whose) > 0
}

// serverSkillURI returns a URI of a skill that names its server: skill://SERVER/REST, which keeps the name of the skill
// where it is. One of another scheme is treated as the URI of any resource.
func serverSkillURI(child, uri string) string {
	if !hasScheme(uri, skillScheme) {
		return serverURI(child, uri)
	}
	return insertServer(skillScheme, child, uri)
}

// claimSkills decides whose the URIs of offers are. What is refused is left out, and noted.
func (b *Builder) claimSkills(c *Catalog, offers []*Offer) {
	var all []claim
	for _, offer := range offers {
		if offer != nil {
			all = append(all, offer.claimed...)
		}
	}
	if len(all) > 0 {
		c.refused = b.cfg.URIs.claimAll(all, func(name string) bool { return b.reader.byName[name] != nil })
	}
	for child, refused := range c.refused {
		if b.reader != b {
			break // the reason may name a server that is not shown
		}
		for _, uri := range slices.Sorted(maps.Keys(refused)) {
			c.omitted[child] = append(slices.Clip(c.omitted[child]), Omission{"skill " + uri, refused[uri]})
		}
	}
	c.skillsRenamed, c.claimed = b.cfg.URIs.renamedChildren()
}

// withSkillNames returns items under their URIs towards the client, without the ones that were refused.
func (catalog *Catalog) withSkillNames(k offers.ListKind, child string, items []*Item) []*Item {
	if !catalog.claimed || k != offers.Resources && k != offers.Skills {
		return items
	}
	out := items[:0]
	for _, it := range items {
		if catalog.refused[child][it.OwnName] != "" || k == offers.Skills && catalog.refused[child][strings.TrimSuffix(it.OwnName, skillFile)] != "" {
			continue
		}
		if edits := catalog.editsOf(child, it.Def, nil); len(edits) > 0 {
			mine := *it
			mine.Name, mine.Def = catalog.by.cfg.URIs.Name(child, it.OwnName), jsonrpc.Join(jsonrpc.Splice(it.Def, edits...))
			it = &mine
		}
		out = append(out, it)
	}
	return out
}

// WithURIs returns a child's answer about a resource or a skill with the URIs that the client knows. asked is the one that it
// asked by, and own the child's own for that. If they differ, skills that are not listed are called in the same way.
func (catalog *Catalog) WithURIs(child, asked, own string, said jsonrpc.Answer) jsonrpc.Answer {
	if said.Result == nil || asked == own && !catalog.claimed {
		return said
	}
	name := func(uri string) string {
		switch now := catalog.by.cfg.URIs.Name(child, uri); {
		case uri == own:
			return asked
		case now == uri && asked != own && hasScheme(uri, skillScheme) && hasScheme(asked, skillScheme):
			return serverSkillURI(child, uri)
		default:
			return now
		}
	}
	edits := catalog.editsOf(child, jsonrpc.Get(said.Result, "skill"), name)
	for _, list := range []string{"skills", "resources", "contents"} {
		_ = jsonrpc.Elements(jsonrpc.Get(said.Result, list), func(entry []byte) bool {
			edits = append(edits, catalog.editsOf(child, entry, name)...)
			return true
		})
	}
	return said.WithEdits(edits...)
}

// editsOf puts names instead of the URIs of a raw entry: its own, and its resources'. name is URIs.Name if it is nil.
func (catalog *Catalog) editsOf(child string, entry []byte, name func(string) string) (edits []jsonrpc.Edit) {
	if name == nil {
		name = func(uri string) string { return catalog.by.cfg.URIs.Name(child, uri) }
	}
	edit := func(at []byte) {
		if uri, ok := jsonrpc.String(at); ok {
			if now := name(uri); now != uri {
				edits = append(edits, jsonrpc.Edit{Old: at, With: jsonrpc.AppendString(nil, now)})
			}
		}
	}
	edit(jsonrpc.Get(entry, "uri"))
	if files := jsonrpc.Get(entry, "resources"); len(files) > 0 && files[0] == '[' {
		_ = jsonrpc.Elements(files, func(file []byte) bool {
			edit(jsonrpc.Get(file, "uri"))
			return true
		})
	}
	return edits
}
