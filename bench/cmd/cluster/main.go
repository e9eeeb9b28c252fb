// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

// Command cluster compares generated stores on a FoundationDB cluster with stores
// written by hand over the official binding. It writes into the directories "users"
// and "bench/by hand", and removes them first: give it a cluster without data that
// matters.
//
//	go run -tags foundationdb ./cmd/cluster -cluster-file fdb.cluster
//	go run -tags foundationdb ./cmd/cluster -cluster-file fdb.cluster -run 'create-64$' -profile /tmp/profiles
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/kazahana-db/kazahana/bench/budgets"
	"github.com/kazahana-db/kazahana/bench/measure"
)

func main() {
	var (
		file    = flag.String("cluster-file", os.Getenv("FDB_CLUSTER_FILE"), "the cluster `file`")
		run     = flag.String("run", "", "`contest`: a regular expression of what to run")
		rounds  = flag.Int("rounds", 7, "rounds of each contest")
		profile = flag.String("profile", "", "`folder` for CPU profiles of the store's rounds")
		write   = flag.String("write", "", "`file` in which to put the report")
	)
	flag.Parse()
	if err := measureCluster(*file, *run, *rounds, *profile, *write); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func measureCluster(file, run string, rounds int, profile, write string) error {
	if file == "" {
		return fmt.Errorf("no cluster: give -cluster-file or set FDB_CLUSTER_FILE")
	}
	contests, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	r := measure.Runner{Rounds: rounds, Span: time.Second, Contests: contests, Progress: func(what string) {
		fmt.Fprintln(os.Stderr, what)
	}}
	r.Done = func(result *measure.Result) {
		for _, row := range result.Rows() {
			fmt.Fprintln(os.Stderr, row)
		}
	}
	if profile != "" {
		profiler := measure.Profiler{Dir: profile}
		r.Turn = profiler.Turn
	}
	results, err := r.Run([]measure.Stage{budgets.Cluster(file)})
	report := measure.Report(results, rounds)
	if len(results) > 0 {
		fmt.Print(report)
	}
	if err != nil || write == "" {
		return err
	}
	return measure.WriteSection(write, "cluster", report)
}
