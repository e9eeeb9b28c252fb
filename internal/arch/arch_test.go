// SPDX-License-Identifier: Apache-2.0

// Package arch tests the structure of the repository: the imports of each package,
// the absence of cgo, the links and claims of documents, and limits of the code's
// shape.
package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/kazahana-db/kazahana"

// standard reports whether a package is of Go's own library: its path has no
// dot in the first element.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// TestNeedsNoCgo checks that no package and no test needs a file that imports C:
// without cgo, go list reports a package from which all files are left out. `make test`
// and `make lint` compile everything without cgo.
func TestNeedsNoCgo(t *testing.T) {
	for _, pkg := range listed(t) {
		if pkg.Error != nil {
			t.Errorf("%s: %s", pkg.ImportPath, pkg.Error.Err)
		}
	}
}

func TestGoModHasNoReplace(t *testing.T) {
	var mod struct{ Replace []any }
	if err := json.Unmarshal(run(t, "go", "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace) > 0 {
		t.Error("go.mod has a replace directive: `go install …@latest` refuses such a module")
	}
}

// listed returns the packages of the module, all that they import, and their
// tests, as go list sees them without cgo.
func listed(t *testing.T, flags ...string) []listedPackage {
	t.Helper()
	out := run(t, "go", append(append([]string{"list", "-e", "-deps", "-test", "-json=ImportPath,ForTest,Imports,Error"}, flags...), "./...")...)
	var all []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg listedPackage
		err := dec.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pkg)
	}
}

// listedPackage is a package as go list describes it.
type listedPackage struct {
	ImportPath, ForTest string
	Imports             []string
	Error               *struct{ Err string }
}

// ofTest reports whether the package is compiled for a test only.
func (p *listedPackage) ofTest() bool {
	return p.ForTest != "" || strings.HasSuffix(p.ImportPath, ".test")
}

// run runs a command at the root of the repository, without cgo.
func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, exit.Stderr)
		}
		t.Fatal(err)
	}
	return out
}
