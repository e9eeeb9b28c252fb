// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goMod is what `go mod edit -json` says of a module.
type goMod struct {
	Module  struct{ Path string }
	Version string `json:"Go"`
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct{ Old, New struct{ Path string } }
}

// TestModulesAgree checks the modules of the repository: all need the same Go, and use what they share directly in the version of the root.
// They find each other in the clone, and require each other in one version, that of the next release. .ci/release
// compares it with the tag: the module proxy does not know what is replaced.
func TestModulesAgree(t *testing.T) {
	main := modOf(t, ".")
	versions, own := map[string]string{}, ""
	for _, r := range main.Require {
		versions[r.Path] = r.Version
	}
	used := strings.Fields(read(t, ".ci/go.work"))
	for _, folder := range []string{"bench", "examples/raft", "placement/protoactor"} {
		mod := modOf(t, folder)
		if mod.Version != main.Version {
			t.Errorf("%s/go.mod says go %s, and go.mod says go %s", folder, mod.Version, main.Version)
		}
		if mod.Module.Path != module+"/"+folder || !slices.Contains(used, "../"+folder) {
			t.Errorf("%s: its module is %s; .ci/go.work must use it", folder, mod.Module.Path)
		}
		for _, r := range mod.Require {
			switch {
			case r.Path == module || strings.HasPrefix(r.Path, module+"/"):
				own = cmp.Or(own, r.Version)
				if r.Version != own {
					t.Errorf("%s/go.mod requires %s %s, and another module %s of one of this repository: want one version", folder, r.Path, r.Version, own)
				}
			case !r.Indirect && versions[r.Path] != "" && versions[r.Path] != r.Version:
				t.Errorf("%s/go.mod requires %s %s, and go.mod %s", folder, r.Path, r.Version, versions[r.Path])
			}
		}
		for _, r := range mod.Replace {
			if !strings.HasPrefix(r.Old.Path, module) || filepath.Join(folder, r.New.Path) != filepath.Join(".", strings.TrimPrefix(r.Old.Path, module)) {
				t.Errorf("%s/go.mod replaces %s by %s", folder, r.Old.Path, r.New.Path)
			}
		}
	}
	if !strings.HasPrefix(own, "v") {
		t.Errorf("the modules require version %q of each other", own)
	}
}

func modOf(t *testing.T, folder string) *goMod {
	t.Helper()
	mod := new(goMod)
	if err := json.Unmarshal(run(t, "go", "mod", "edit", "-json", filepath.Join(folder, "go.mod")), mod); err != nil {
		t.Fatal(err)
	}
	return mod
}
