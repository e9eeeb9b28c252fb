// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestRemedies does what each finding says, with the real commands, in a damaged database:
// nothing is found afterwards, and no record is lost. What a program has to do, or somebody
// who knows, is left out.
func TestRemedies(t *testing.T) {
	db := prepared(t)
	healthy, treated, ran := pairsOf(t, db), map[string]bool{}, 0
	for _, d := range allDamages() {
		t.Run(d.name, func(t *testing.T) {
			ran++
			if found, _ := examineDamaged(t, db, d, d.isExclusive()); slices.ContainsFunc(found, isManual) {
				return
			}
			p := patient{t, t.TempDir(), healthy}
			found, before := p.damage(d)
			for _, f := range found {
				p.treat(f)
				treated[f.Code] = true
			}
			left, after := p.examine(d)
			for _, f := range left {
				t.Errorf("%v is found after %s", f, f.Remedy)
			}
			p.checkKept(found, before, after)
		})
	}
	for _, c := range doctor.Codes() {
		if ran == len(allDamages()) && c.Name != doctor.NotExamined && command.MatchString(c.Remedy) && !treated[c.Name] {
			t.Errorf("the commands of %s were not run", c.Name)
		}
	}
}

// isManual reports whether a finding is nothing that a command, or a backup, mends.
func isManual(f doctor.Finding) bool {
	return !command.MatchString(f.Remedy) && !isRestored(f)
}

func isRestored(f doctor.Finding) bool { return strings.Contains(f.Remedy, "restore the ") }

// patient is a folder with a damaged database.
type patient struct {
	*testing.T
	folder  string
	healthy []kv.KeyValue
}

// open calls fn with the database.
func (p patient) open(o embedded.Options, fn func(kv.Database)) {
	p.Helper()
	db, err := embedded.Open(p.folder, o)
	check(p.T, err)
	fn(db)
	check(p.T, db.Close())
}

// damage writes the healthy database, damages it, and returns what is found, and all pairs.
func (p patient) damage(d damage) (found []doctor.Finding, pairs []kv.KeyValue) {
	p.open(embedded.Options{NoSync: true}, func(db kv.Database) {
		check(p.T, db.Transact(p.Context(), func(tx kv.Transaction) error {
			for _, pair := range p.healthy {
				tx.Set(pair.Key, pair.Value)
			}
			return nil
		}))
		check(p.T, db.Transact(p.Context(), func(tx kv.Transaction) error {
			d.make(world{p.T, tx})
			return nil
		}))
		found, pairs = d.find(p.T, db, d.isExclusive()), pairsOf(p.T, db)
	})
	return found, pairs
}

// examine returns what is found, and all pairs.
func (p patient) examine(d damage) (found []doctor.Finding, pairs []kv.KeyValue) {
	p.open(embedded.Options{ReadOnly: true}, func(db kv.Database) {
		found, pairs = d.find(p.T, db, d.isExclusive()), pairsOf(p.T, db)
	})
	return found, pairs
}

// treat does what a finding says.
func (p patient) treat(f doctor.Finding) {
	if isRestored(f) {
		p.restore(f)
	}
	for _, command := range commandsOf(f) {
		p.run(command)
	}
}

// restore restores the keys of a directory from a backup: the healthy database.
func (p patient) restore(f doctor.Finding) {
	p.open(embedded.Options{NoSync: true}, func(db kv.Database) {
		check(p.T, db.Transact(p.Context(), func(tx kv.Transaction) error {
			r := kv.PrefixRange(prefixOf(world{p.T, tx}, f))
			tx.ClearRange(r)
			for _, pair := range p.healthy {
				if bytes.Compare(r.Begin, pair.Key) <= 0 && bytes.Compare(pair.Key, r.End) < 0 {
					tx.Set(pair.Key, pair.Value)
				}
			}
			return nil
		}))
	})
}

func prefixOf(w world, f doctor.Finding) []byte {
	prefix, err := w.dir(strings.Join(f.Path, "/")).Prefix()
	check(w.t, err)
	return prefix
}

// checkKept checks that all records are there, but those that the findings name, and as they
// were, or healthy.
func (p patient) checkKept(found []doctor.Finding, before, after []kv.KeyValue) {
	p.Helper()
	healthy, left := valuesOf(p.healthy), valuesOf(after)
	for _, pair := range before {
		named := slices.ContainsFunc(found, func(f doctor.Finding) bool {
			return bytes.Equal(f.Key, pair.Key) || strings.Contains(f.Remedy, "--prefix") && bytes.HasPrefix(pair.Key, f.Key)
		})
		value, there := left[string(pair.Key)]
		kept := there && (value == string(pair.Value) || value == healthy[string(pair.Key)])
		if record := bytes.Contains(pair.Key, []byte("\x02R\x00\x02")); record && !named && !kept {
			p.Errorf("the record %s was lost or changed", tuple.Describe(pair.Key))
		}
	}
}

func valuesOf(pairs []kv.KeyValue) map[string]string {
	all := map[string]string{}
	for _, pair := range pairs {
		all[string(pair.Key)] = string(pair.Value)
	}
	return all
}

// run runs a command on the database.
func (p patient) run(command string) {
	p.Helper()
	args := strings.Fields(command)
	switch verb := args[0] + " " + args[1]; {
	case args[0] == "lease":
		args = append(args, "--leases", "embedded:"+p.folder)
	case slices.Contains([]string{"kv clear", "index drop", "index build", "dir rm", "record rm", "placement forget-members"}, verb):
		args = append(args, "--db", p.folder, "--yes")
	default:
		args = append(args, "--db", p.folder)
	}
	var out, errs bytes.Buffer
	if code := cli.Run(p.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != cli.ExitDone {
		p.Errorf("kazahana %s: exit code %d: %s %s", command, code, &out, &errs)
	}
}

// command finds those that a remedy names.
var command = regexp.MustCompile("`kazahana ([^`]*)`")

// commandsOf returns the commands that the remedy of a finding names.
func commandsOf(f doctor.Finding) (all []string) {
	names := strings.NewReplacer("0xKEY", fmt.Sprintf("0x%x", f.Key), "PATH", database.FormatPath(f.Path), "INDEX", f.Index,
		"ID", strings.Trim(f.ID, "()"), "SERVICE", "default", "TENANT", "tenants/tenant-9")
	for _, c := range command.FindAllStringSubmatch(f.Remedy, -1) {
		all = append(all, names.Replace(c[1]))
	}
	return all
}

// pairsOf returns all pairs of a database.
func pairsOf(t *testing.T, db kv.Database) (all []kv.KeyValue) {
	t.Helper()
	check(t, db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) (err error) {
		all, err = tx.GetRange(kv.KeyRange{Begin: []byte{0}, End: []byte{0xff}}.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(t.Context())
		for i := range all {
			all[i] = kv.KeyValue{Key: bytes.Clone(all[i].Key), Value: bytes.Clone(all[i].Value)}
		}
		return err
	}))
	return all
}
