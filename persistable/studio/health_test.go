// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"net/http"
	"testing"

	"github.com/kazahana-db/kazahana/internal/browsertest"
	"github.com/kazahana-db/kazahana/internal/cluster"
	"github.com/kazahana-db/kazahana/internal/cluster/clustertest"
)

// TestHealth asks for the health of a cluster that has lost a process, and of an engine without
// any.
func TestHealth(t *testing.T) {
	var of struct {
		Health  *cluster.Health
		Faults  []cluster.Fault
		Unknown string
	}
	s := startOn(t, clustertest.Pretend(openMemory(t), clustertest.Killed), Options{})
	if status := s.get("health", nil, &of); status != http.StatusOK || of.Health == nil || len(of.Health.Processes) != 2 || len(of.Faults) != 2 || of.Unknown != "" {
		t.Errorf("a cluster: %d %+v", status, of)
	}
	of.Health, of.Faults = nil, nil
	if status := start(t, Options{}).get("health", nil, &of); status != http.StatusOK || of.Health != nil || of.Faults == nil || of.Unknown == "" {
		t.Errorf("an embedded engine: %d %+v", status, of)
	}
}

// TestBrowserShowsHealth: the overview shows how a cluster is, and its faults first.
func TestBrowserShowsHealth(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	for name, texts := range map[string][]string{
		clustertest.Killed: {
			"although the redundancy mode is double", "of 3 coordinators 1 cannot be reached", "kazahana doctor", "Recovery complete",
			"0 zones may fail without loss of data", "for logs", "until they are on disk", "workload", "0 by hand", "of version 7.3.79", "127.0.0.1:4801", "commit_proxy",
		},
		clustertest.Unavailable: {"not available", "Unable to reach a quorum of coordinators"},
	} {
		s := startOn(t, clustertest.Pretend(openMemory(t), name), Options{})
		v := &visit{browsertest.Open(t, s.URL+"/"), s}
		v.OpenPage(s.pages.Link(""))
		v.WantSoon("h1", "Overview")
		for _, text := range texts {
			v.WantSoon(".health", text)
		}
		v.CheckPage("health " + name)
		v.WantQuiet()
	}
}
