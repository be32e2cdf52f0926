package setup

import (
	"testing"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/hub/catalog"
)

// TestExposure holds what each mode becomes, and that the bound of auto is given in tokens.
func TestExposure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]catalog.Exposure{
		`{}`:                                    {},
		`{"expose":"search"}`:                   {Search: true},
		`{"expose":"auto"}`:                     {Above: 80_000},
		`{"expose":{"mode":"auto"}}`:            {Above: 80_000},
		`{"expose":{"tokens":5}}`:               {},
		`{"expose":{"mode":"auto","tokens":5}}`: {Above: 20},
	} {
		file, _, err := config.Parse("hub.json", []byte(text), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := exposureOf(file.Expose); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
