package sandbox

import "mcphub/children/sandbox/seatbelt"

// seatbeltText returns the Profile in the language of Seatbelt. find is the method of a seatbelt.Disk. What is not there opens nothing, and
// neither does what is no more what its rule was made for.
func (p *Profile) seatbeltText(find func(path string) (at seatbelt.Name, dir bool)) (string, error) {
	policy := seatbelt.Policy{Unbounded: p.Unbounded, Network: p.Network.On, Ports: p.Network.Ports, AllSockets: p.Sockets}
	for _, r := range p.Rules {
		at, dir := find(r.Path)
		switch {
		case p.isExcepted(r.Path) || p.hasMoved(r.Path) || at.Missing != "":
		case r.Path == Terminals.Path:
			policy.Terminals = true
		default:
			policy.Areas = append(policy.Areas, seatbelt.Area{
				Path: at.Path, Dir: dir, Read: r.Access&Read != 0, Execute: r.Access&Execute != 0, Write: r.Access&Write != 0, Control: r.Access&Device != 0,
			})
		}
	}
	for _, path := range p.Withheld {
		at, _ := find(path)
		policy.Closed = append(policy.Closed, at)
	}
	if p.Except != "" {
		at, _ := find(p.Except)
		policy.Closed = append(policy.Closed, at)
	}
	return policy.Text()
}
