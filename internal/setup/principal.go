package setup

import (
	"slices"

	"mcphub/internal/config"
	"mcphub/internal/principal"
)

// Principal finds whom hub.json admits under a name, NAME or NAME@ISSUER; false where it admits nobody so called.
// Which groups an issuer's token will name, hub.json does not say.
func Principal(f *config.File, name string) (principal.Principal, bool) {
	for _, t := range f.HTTP.Tokens {
		if t.Name == name {
			return principal.Principal{Name: name}, true
		}
	}
	var issuers []string
	for _, i := range f.HTTP.Issuers {
		issuers = append(issuers, i.Issuer)
	}
	p := principal.Of(name, issuers)
	return p, slices.Contains(issuers, p.Issuer)
}
