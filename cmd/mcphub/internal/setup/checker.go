package setup

import (
	"errors"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/internal/reference"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/declare"
)

// buildChecker builds the judge of all calls; own are the hub's own folders.
func (s *Source) buildChecker(f *config.File, home string, own []string) (*validate.Checker, error) {
	cfg := validate.Config{
		FS: s.FS(), Home: home, Depth: f.Limits.Depth,
		Resources: f.Roots.Resources, ClientResources: f.Roots.ClientResources,
	}
	var wrong error
	cfg.Policy, wrong = policyOf(f, home)
	for i := range f.Servers {
		server := &f.Servers[i]
		c := validate.ChildConfig{Name: server.Name, Command: server.Command, CommandArgs: server.Args, URL: reference.Blank(server.URL, "secret"), Inherit: server.Inherit, Args: map[string]map[string]declare.ArgRule{}}
		if server.Paths.Mode != "" {
			mode, err := declare.ParseMode(server.Paths.Mode)
			if err != nil {
				return nil, err
			}
			c.Mode, c.ModeSet = mode, true
		}
		if server.Arguments != "" {
			demand, err := declare.ParseDemand(server.Arguments)
			if err != nil {
				return nil, err
			}
			c.Demand = demand
		}
		for tool, rules := range server.Paths.Args {
			c.Args[tool] = map[string]declare.ArgRule{}
			for pointer, r := range rules {
				role, err := access.Parse(r.Role)
				if err != nil {
					return nil, err
				}
				c.Args[tool][pointer] = declare.ArgRule{Role: role, Base: r.Base}
			}
		}
		cfg.Children = append(cfg.Children, c)
	}
	cfg.Protected = append(own, ownFolders(f, home)...)
	cfg.Protected = append(cfg.Protected, f.Trail.Names...)
	if dir := f.Audit.Dir; dir != "" && !f.Audit.IsOff() {
		cfg.Protected = append(cfg.Protected, resolvePath(f, dir, home, false))
	}
	cfg.Protected = append(cfg.Protected, secretFiles(f, home)...)
	checker, err := validate.NewChecker(cfg)
	if err = errors.Join(wrong, err); err != nil {
		return nil, err
	}
	return checker, nil
}
