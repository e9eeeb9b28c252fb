// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/cluster"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

const aboutDoctor = `Examine a whole database, and say what to do about each finding: directories, headers of stores,
records, index entries, counts, tenants, leases of machine ids, elections, members, owners of virtual
actors, documents of the ID service; of a cluster, without --path, also whether its state endangers
data: copies, processes, space, lag. It needs no Go code of the types, writes nothing, and may run
while programs write. The last line counts what was examined.

Findings are damage, warnings or notices. The exit code is 5 if there is damage, and 6 if there is none,
but not everything could be examined (directory/not-examined). docs/operations.md lists all findings.
`

// doctorFlags are those of the verb.
type doctorFlags struct {
	path     string
	records  bool
	priority *kv.Priority
}

// doctorCommand returns kazahana doctor.
func doctorCommand(c *shell.Console) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use: "doctor", Short: "Examine a whole database, and say what to do", Args: shell.Arguments(cobra.NoArgs),
		Long:    aboutDoctor + database.About,
		Example: "  kazahana doctor --db data\n  kazahana doctor --db data --path tenants/tenant-1 --json\n  kazahana doctor --cluster-file fdb.cluster --records=false",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return database.ReadKeys(cmd, func(ctx context.Context, db kv.Database) error { return examineDatabase(ctx, cmd, c, db, f) })
		},
	}
	f.priority = database.AddPriority(cmd)
	cmd.Flags().StringVar(&f.path, "path", "", "only the directory at this `path`, and those below it")
	cmd.Flags().BoolVar(&f.records, "records", true, "compare records with their index entries")
	return cmd
}

func examineDatabase(ctx context.Context, cmd *cobra.Command, c *shell.Console, db kv.Database, f doctorFlags) error {
	path, err := database.ParsePath(cmd, f.path)
	if err != nil {
		return err
	}
	if err := checkPath(ctx, db, path); err != nil {
		return err
	}
	_, exclusive := db.(*embedded.Database)
	var faults []cluster.Fault
	if database.IsCluster(db) && len(path) == 0 {
		faults = clusterFaults(ctx, db)
	}
	bar := c.StartProgress("keys", 0, shell.Things)
	var failed error
	r, err := doctor.Examine(ctx, db, doctor.Options{
		Path: path, Cluster: faults, SkipRecords: !f.records, Exclusive: exclusive, Priority: *f.priority,
		Progress: func(r doctor.Report) { bar.Set(r.Keys) },
	}, func(found doctor.Finding) { failed = errors.Join(failed, c.Write(newFinding(found))) })
	bar.Finish()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return errors.Join(c.Write(newDoctorSummary(r)), verdict(r))
}

// clusterFaults returns the faults of a cluster. It is one that they are not known.
func clusterFaults(ctx context.Context, db kv.Database) []cluster.Fault {
	status, err := cluster.Read(ctx, db)
	if err != nil {
		return []cluster.Fault{{Code: cluster.Unknown, Reason: err.Error()}}
	}
	return status.Health.Faults()
}

// checkPath returns an error if there is no directory at the path, unless the path cannot be
// followed: the examination says why.
func checkPath(ctx context.Context, db kv.Database, path []string) error {
	if len(path) == 0 {
		return nil
	}
	if there, err := directory.Root().Exists(ctx, db, path); err != nil || there {
		return nil //nolint:nilerr // see above
	}
	return database.Missing(fmt.Errorf("there is no directory %s", database.QuotePath(path)))
}

// verdict returns the error with which the verb ends; nil if all was examined, and no damage found.
func verdict(r doctor.Report) error {
	switch {
	case r.Damage > 0:
		return &shell.ExitError{Code: exitDamaged, Err: fmt.Errorf("the database is damaged in %d places: keep a copy of it as it is, then do what each finding says", r.Damage)}
	case r.NotExamined > 0:
		return &shell.ExitError{Code: exitIncomplete, Err: fmt.Errorf("%d parts of the database could not be examined: the findings %s name them", r.NotExamined, doctor.NotExamined)}
	}
	return nil
}

// finding is a finding as the verb prints it.
type finding struct {
	Code      string `json:"code"`
	Severity  string `json:"severity"`
	Directory string `json:"directory,omitempty"` // empty if it is about the cluster
	Type      string `json:"type,omitempty"`
	Index     string `json:"index,omitempty"`
	ID        string `json:"id,omitempty"`
	Key       string `json:"key,omitempty"` // after the directory's prefix, as a tuple
	KeyHex    string `json:"keyHex,omitempty"`
	Reason    string `json:"reason"`
	Remedy    string `json:"remedy"`
	Places    int    `json:"places"` // with the same remedy: id, key and reason are of the first
}

func newFinding(f doctor.Finding) finding {
	directory := database.FormatPath(f.Path)
	if strings.HasPrefix(f.Code, "cluster/") {
		directory = ""
	}
	return finding{
		Code: f.Code, Severity: string(f.Severity), Directory: directory, Type: f.Type, Index: f.Index, ID: f.ID,
		Key: f.Place, KeyHex: hex.EncodeToString(f.Key), Reason: f.Reason, Remedy: f.Remedy, Places: f.Places,
	}
}

// Lines implements [shell.Result].
func (f finding) Lines() []string {
	pairs := []any{f.Severity, f.Code}
	for _, p := range [][2]string{{"directory", f.Directory}, {"type", f.Type}, {"index", f.Index}, {"id", f.ID}, {"key", f.Key}} {
		if p[1] != "" {
			pairs = append(pairs, p[0], p[1])
		}
	}
	if f.KeyHex != "" {
		pairs = append(pairs, "bytes", "0x"+f.KeyHex)
	}
	if f.Places > 1 {
		pairs = append(pairs, "places", fmt.Sprintf("%d, of which this is the first", f.Places))
	}
	return append(shell.Fields(append(pairs, "reason", f.Reason, "remedy", f.Remedy)...), "")
}

// doctorSummary counts what was examined and found.
type doctorSummary struct {
	Directories int64 `json:"directories"`
	Stores      int64 `json:"stores"`
	Records     int64 `json:"records"`
	Entries     int64 `json:"entries"`
	Keys        int64 `json:"keys"`
	Damage      int64 `json:"damage"`
	Warnings    int64 `json:"warnings"`
	Notices     int64 `json:"notices"`
	NotExamined int64 `json:"notExamined"`
}

func newDoctorSummary(r doctor.Report) doctorSummary { return doctorSummary(r) }

// Lines implements [shell.Result].
func (s doctorSummary) Lines() []string {
	return []string{fmt.Sprintf("examined %s, %s, %s, %s: damage %d, warnings %d, notices %d",
		database.Plural(s.Directories, "directory", "directories"), database.Plural(s.Stores, "store", "stores"),
		database.Plural(s.Records, "record", "records"), database.Plural(s.Entries, "entry", "entries"), s.Damage, s.Warnings, s.Notices)}
}
