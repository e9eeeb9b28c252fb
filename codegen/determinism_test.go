// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Under the race detector the scripts generate code; type-checking takes several times as long there.
// What the compiler writes is the same.

package codegen_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kazahana-db/kazahana/codegen"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// parts are declarations of one package; each goes into a file of its own.
var parts = []string{
	"type Base struct {\n\tID   idgen.ID\n\tMade string `persist:\"index\"`\n}\n\nvar _ persistable.Type\n",
	"type Zebra struct {\n\t_ persistable.Index `persist:\"Stripes,Made\"`\n\tBase\n\tStripes int `persist:\"unique\"`\n\tHome Box[Place]\n}\n",
	"type Ant struct {\n\t_  persistable.Type `persist:\"Ant\"`\n\tID idgen.ID\n\tLegs map[string]Leg\n\tHome *Place\n\tBox Box[Leg]\n}\n",
	"type Place struct {\n\tName string\n\tNear []Place\n\tOwner idgen.ID\n}\n\nvar _ persistable.Type\n",
	"type Leg struct{ Long idgen.ID }\n\ntype Box[T any] struct{ V T }\n\nvar _ persistable.Type\n",
}

// TestDeterminism generates a package several times, its files named and so
// ordered at random: always the same bytes. Two shells load what the package
// imports, and take turns.
func TestDeterminism(t *testing.T) {
	random := seed.Rand(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	loadModules(t, root)
	t.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"))
	t.Setenv("GOPROXY", "off")
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	shells := []*codegen.Shell{codegen.NewShell(), codegen.NewShell()}
	var first map[string]string
	for round := range rounds {
		dir := t.TempDir()
		if err := writeModule(dir, root); err != nil {
			t.Fatal(err)
		}
		for i, part := range random.Perm(len(parts)) {
			source := "package zoo\n\nimport (\n\t\"github.com/kazahana-db/kazahana/idgen\"\n\t\"github.com/kazahana-db/kazahana/persistable\"\n)\n\nvar _ idgen.ID\n\n" + parts[part]
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%c.go", 'a'+i)), []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var stderr strings.Builder
		if code := shells[round%len(shells)].Run(t.Context(), dir, os.Environ(), []string{"-proto"}, &stderr, &stderr); code != 0 {
			t.Fatalf("persistgen -proto: exit code %d: %s", code, &stderr)
		}
		got := map[string]string{}
		for _, name := range []string{"zoo_persist.go", "persist.lock", "zoo.proto"} {
			content, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			got[name] = string(content)
		}
		if round == 0 {
			first = got
		} else if diff := cmp.Diff(first, got); diff != "" {
			t.Fatalf("round %d differs (-first +now):\n%s", round, diff)
		}
	}
}

// The package of TestExportSize and how large its export file may be. Its size follows the
// time that it takes to compile, and does not depend on the machine. The bound was 11.0 MB
// before stores had batches, Watch, GetOrCreate and AllowScan, queries Explain and
// FilterLimit, and fields In; 12.2 MB before conditions could be on fields without an
// index: a field of a type of its own has 23 kB; and 13.0 MB before one of them was the ID.
const (
	exportedTypes = 20
	maxExportSize = 13_400_000
)

// TestExportSize builds a package with twenty types like the one of the README,
// and bounds what the compiler makes of their stores: methods that are compiled
// again for every type must stay few and small.
func TestExportSize(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	loadModules(t, root)
	dir := t.TempDir()
	if err := writeModule(dir, root); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), exampleTypes(exportedTypes), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	t.Setenv("CGO_ENABLED", "0")
	t.Chdir(dir)
	var stderr bytes.Buffer
	if code := codegen.Command(t.Context(), nil, &stderr, &stderr); code != 0 {
		t.Fatalf("persistgen: %d\n%s", code, &stderr)
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-f", "{{.Export}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, of at most %d", info.Size(), maxExportSize)
	if info.Size() > maxExportSize {
		t.Errorf("the export file of %d types has %d bytes, at most %d are allowed: which methods are compiled for every type?",
			exportedTypes, info.Size(), maxExportSize)
	}
}

// exampleTypes is a source file with n types like the one of the README.
func exampleTypes(n int) []byte {
	var b bytes.Buffer
	b.WriteString("package shop\n\nimport (\n\t\"time\"\n\n\t\"github.com/kazahana-db/kazahana/idgen\"\n\t\"github.com/kazahana-db/kazahana/persistable\"\n)\n\ntype Status int\n")
	for i := range n {
		fmt.Fprintf(&b, `
type Order%02[1]d struct {
	_ persistable.Directory `+"`persist:\"tenants/{TenantID}/orders%02[1]d,layer=partition\"`"+`
	_ persistable.Index     `+"`persist:\"Status,CreatedAt\"`"+`
	_ persistable.Unique    `+"`persist:\"Number\"`"+`

	ID        idgen.ID
	TenantID  string
	Number    string
	Status    Status `+"`persist:\"index\"`"+`
	CreatedAt time.Time
	Amount    int64
}
`, i)
	}
	return b.Bytes()
}
