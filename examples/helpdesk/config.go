// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"flag"
	"os"
)

// config is what an operator sets, by flags or by the environment.
type config struct {
	data        string // folder of the embedded database
	clusterFile string // or the cluster file of FoundationDB
	backups     string // folder for backups of the embedded database
	listen      string // address for tenants
	admin       string // address for operators
	adminToken  string
}

// parseConfig reads flags. Their defaults come from the environment.
func parseConfig(args []string, getenv func(string) string) (config, error) {
	var c config
	flags := flag.NewFlagSet("helpdesk", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.StringVar(&c.data, "data", cmp.Or(getenv("HELPDESK_DATA"), "data/helpdesk"), "folder of the database")
	flags.StringVar(&c.clusterFile, "cluster-file", getenv("HELPDESK_CLUSTER_FILE"), "cluster file of a FoundationDB cluster, which is used instead of a folder")
	flags.StringVar(&c.backups, "backups", cmp.Or(getenv("HELPDESK_BACKUPS"), "data/helpdesk-backups"), "folder for backups")
	flags.StringVar(&c.listen, "listen", cmp.Or(getenv("HELPDESK_LISTEN"), "localhost:8080"), "address for tenants")
	flags.StringVar(&c.admin, "admin", cmp.Or(getenv("HELPDESK_ADMIN"), "localhost:8081"), "address for operators: keep it private")
	c.adminToken = getenv("HELPDESK_ADMIN_TOKEN") // not a flag: other users of the machine can read these
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if len(c.adminToken) < 32 {
		return c, errors.New("HELPDESK_ADMIN_TOKEN: want at least 32 characters, for example those of: openssl rand -hex 16")
	}
	return c, nil
}
