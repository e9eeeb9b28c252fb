// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Under the race detector the scripts generate code; type-checking takes several times as long there.

package codegen_test

import (
	"fmt"
	"os"
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
