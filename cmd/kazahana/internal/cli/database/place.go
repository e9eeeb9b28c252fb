// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// The environment variables that stand for --db, --cluster-file and --attach. A flag has precedence over
// all.
const (
	FolderVariable  = "KAZAHANA_DB"
	ClusterVariable = "KAZAHANA_CLUSTER_FILE"
	attachVariable  = "KAZAHANA_ATTACH"
)

// attachTokenVariable has the token of the page of --attach. It is not a flag: every user of the machine sees the
// arguments of programs.
const attachTokenVariable = "KAZAHANA_ATTACH_TOKEN"

// The names of the flags.
const (
	folderFlag      = "db"
	clusterFlag     = "cluster-file"
	attachFlag      = "attach"
	attachTokenFlag = "attach-token-file"
)

// placeFlags are the flags that say where a database is, and placeVariables what stands for them.
var (
	placeFlags     = []string{folderFlag, clusterFlag, attachFlag}
	placeVariables = []string{FolderVariable, ClusterVariable, attachVariable}
)

// place is where a database is: one of the three.
type place struct {
	folder  string
	cluster string // a file
	url     string // of the page of a program

	token string // of the page
}

// String implements [fmt.Stringer].
func (p place) String() string {
	switch {
	case p.folder != "":
		return "the folder " + shell.Word(p.folder)
	case p.url != "":
		return "the database of the program at " + shell.Word(p.url)
	}
	return "the cluster of " + shell.Word(p.cluster)
}

// remedy says what to do when the database does not answer.
func (p place) remedy() string {
	switch {
	case p.folder != "":
		return "See in the system's log whether its disk has faults."
	case p.url != "":
		return "See whether the program runs, and what its log says of the database."
	}
	file := shell.Word(p.cluster)
	return fmt.Sprintf("Run fdbcli -C %s --exec 'status details' on this machine: it says whether the cluster is available. If it reaches no coordinators, see whether the servers run, whether this machine reaches them, and whether %s is the file that they have.", file, file)
}

// placeOf returns the place that the flags name or, without them, the environment.
func placeOf(cmd *cobra.Command) (p place, err error) {
	values, names, changed := make([]string, len(placeFlags)), make([]string, len(placeFlags)), false
	for i, name := range placeFlags {
		flag := cmd.Flag(name)
		if flag == nil {
			return p, errors.New("the command has no flags of a database")
		}
		values[i], names[i], changed = flag.Value.String(), "--"+name, changed || flag.Changed
	}
	if !changed {
		for i, name := range placeVariables {
			values[i], names[i] = os.Getenv(name), name
		}
	}
	var given []string
	for i, to := range []*string{&p.folder, &p.cluster, &p.url} {
		if *to = values[i]; *to != "" {
			given = append(given, names[i])
		}
	}
	switch {
	case len(given) == 0:
		return p, shell.Misuse(cmd, fmt.Errorf("say which database: --%s FOLDER (%s), --%s FILE (%s) or --%s URL (%s)", folderFlag, FolderVariable, clusterFlag, ClusterVariable, attachFlag, attachVariable))
	case len(given) > 1:
		return p, shell.Misuse(cmd, fmt.Errorf("%s exclude each other", strings.Join(given, " and ")))
	case p.url != "":
		p.token, err = attachToken(cmd)
	}
	return p, err
}

// attachToken returns the token of the page of --attach.
func attachToken(cmd *cobra.Command) (string, error) {
	token, file := os.Getenv(attachTokenVariable), cmd.Flag(attachTokenFlag).Value.String()
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--%s: %w", attachTokenFlag, err)
		}
		token = string(text)
	}
	if token = strings.TrimSpace(token); token == "" {
		return "", shell.Misuse(cmd, fmt.Errorf("--%s needs the token of the page: give it in the variable %s, or in the file of --%s", attachFlag, attachTokenVariable, attachTokenFlag))
	}
	return token, nil
}

// open opens the database. It makes none.
func (p place) open(ctx context.Context, writes bool) (kv.Database, error) {
	switch {
	case p.folder != "" && writes:
		return openFolder(p.folder)
	case p.folder != "":
		return OpenFolder(p.folder)
	case p.url != "":
		return p.attach(ctx, writes)
	}
	return openCluster(ctx, p.cluster)
}

// attach opens the database that a running program serves.
func (p place) attach(ctx context.Context, writes bool) (kv.Database, error) {
	db, err := remote.Attach(ctx, remote.AttachOptions{URL: p.url, Token: p.token, Write: writes})
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", p, err)
	}
	return db, nil
}

// IsCluster reports whether a database is one of FoundationDB, here or in the program that serves it.
func IsCluster(db kv.Database) bool {
	switch db := db.(type) {
	case *embedded.Database:
		return false
	case *remote.Database:
		return db.Engine() != remote.Embedded
	}
	return true
}
