// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// The environment variables behind --db and --cluster-file. A flag has precedence over
// both.
const (
	FolderVariable  = "KAZAHANA_DB"
	ClusterVariable = "KAZAHANA_CLUSTER_FILE"
)

// The names of the flags.
const (
	folderFlag  = "db"
	clusterFlag = "cluster-file"
	timeoutFlag = "timeout"
)

// About says in the help of a verb which database it uses.
const About = `
The database is that of --db (KAZAHANA_DB), the folder of an embedded database that no program has
open, or of --cluster-file (KAZAHANA_CLUSTER_FILE), a FoundationDB cluster.`

// AddFlags adds the flags of the database to the root of all commands.
func AddFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.String(folderFlag, "", "the database in this `folder`, which no program has open; also "+FolderVariable)
	flags.String(clusterFlag, "", "the FoundationDB cluster of this `file`; also "+ClusterVariable)
	flags.Duration(timeoutFlag, 0, "give up after this `duration`; 0: never")
	_ = root.MarkPersistentFlagDirname(folderFlag) // the flag is there
	_ = root.MarkPersistentFlagFilename(clusterFlag)
}

// place is where a database is: one of the two.
type place struct {
	folder  string
	cluster string // a file
}

// String implements [fmt.Stringer].
func (p place) String() string {
	if p.folder != "" {
		return "the folder " + shell.Word(p.folder)
	}
	return "the cluster of " + shell.Word(p.cluster)
}

// placeOf returns the place that the flags name or, without them, the environment.
func placeOf(cmd *cobra.Command) (p place, err error) {
	folder, cluster := cmd.Flag(folderFlag), cmd.Flag(clusterFlag)
	if folder == nil || cluster == nil {
		return p, errors.New("the command has no flags of a database")
	}
	from := "--" + folderFlag + " and --" + clusterFlag
	if folder.Changed || cluster.Changed {
		p = place{folder.Value.String(), cluster.Value.String()}
	} else {
		p = place{os.Getenv(FolderVariable), os.Getenv(ClusterVariable)}
		from = FolderVariable + " and " + ClusterVariable
	}
	switch {
	case p == place{}:
		return p, shell.Misuse(cmd, fmt.Errorf("say which database: --%s FOLDER (%s) or --%s FILE (%s)", folderFlag, FolderVariable, clusterFlag, ClusterVariable))
	case p.folder != "" && p.cluster != "":
		return p, shell.Misuse(cmd, fmt.Errorf("%s exclude each other", from))
	}
	return p, nil
}

// Folder returns the folder of the embedded database of a verb that has no meaning for a
// cluster.
func Folder(cmd *cobra.Command) (string, error) {
	if s := sessionOf(cmd); s != nil {
		return "", shell.Misuse(cmd, fmt.Errorf("%s is open in this shell: run this verb outside of it", s.at))
	}
	p, err := placeOf(cmd)
	if err == nil && p.folder == "" {
		err = shell.Misuse(cmd, fmt.Errorf("this is for folders of embedded databases: give --%s; clusters have tools of their own, fdbbackup and fdbrestore", folderFlag))
	}
	return p.folder, err
}

// Refuse makes a verb that uses no database of these flags refuse them.
func Refuse(group *cobra.Command) *cobra.Command {
	group.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range []string{folderFlag, clusterFlag} {
			if f := cmd.Flag(name); f != nil && f.Changed {
				return shell.Misuse(cmd, fmt.Errorf("--%s: this command uses no such database", name))
			}
		}
		return nil
	}
	return group
}
