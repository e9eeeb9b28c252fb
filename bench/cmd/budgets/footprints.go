// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/bench/budgets"
	"github.com/kazahana-db/kazahana/bench/measure"
)

// footprints are the flags that measure memory and disk.
type footprints struct {
	all  bool
	only string // "work/store": this process is for that one
	name string // of the section
	budgets.FootprintOptions
}

func (f *footprints) addFlags() {
	flag.BoolVar(&f.all, "footprint", false, "measure memory and disk; -run is `work/store` then")
	flag.StringVar(&f.only, "footprint-of", "", "`work/store` to measure in this process; the command itself uses it")
	flag.StringVar(&f.name, "section", "footprint", "`section` of the file for the footprints")
	flag.IntVar(&f.Records, "footprint-records", 100_000, "`records` of footprints")
	flag.DurationVar(&f.Idle, "idle", 30*time.Second, "`time` that stores are idle for their footprints")
	flag.DurationVar(&f.Gets, "gets", 5*time.Second, "`time` of gets for footprints")
	flag.DurationVar(&f.Updates, "updates", time.Minute, "`time` of updates, 1,000 a second, for footprints")
}

func (f *footprints) asked() bool { return f.all || f.only != "" }

// measure prints the table of the footprints that are asked for, or the single one in JSON.
func (f *footprints) measure(run, dir, write string) error {
	if work, store, ok := strings.Cut(f.only, "/"); ok {
		found, err := budgets.MeasureFootprint(work, store, dir, f.FootprintOptions)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(found)
	}
	work, store, _ := strings.Cut(run, "/")
	works, err := regexp.Compile(work)
	if err != nil {
		return err
	}
	stores, err := regexp.Compile(store)
	if err != nil {
		return err
	}
	found, err := budgets.Footprints(dir, works, stores, f.arguments)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no footprint is named like %q: use work/store, as in 'updates/engine, as it comes'", run)
	}
	report := fmt.Sprintf("%s. Each line is a process of its own.\n\n%s", measure.Machine(), budgets.FootprintTable(found))
	if len(found) > 0 {
		fmt.Printf("## %s\n\n%s\n", f.name, report)
	}
	if err != nil || write == "" {
		return err
	}
	return measure.WriteSection(write, f.name, report)
}

// arguments are those for the process of one footprint.
func (f *footprints) arguments(work, store, dir string) []string {
	return []string{
		"-footprint-of", work + "/" + store, "-dir", dir, "-footprint-records", fmt.Sprint(f.Records),
		"-idle", f.Idle.String(), "-gets", f.Gets.String(), "-updates", f.Updates.String(),
	}
}
