// SPDX-License-Identifier: Apache-2.0

package protoactor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/cluster"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/placement/protoactor"
)

// gossipInterval switches protoactor-go's gossip off, which nothing here needs: it reads the list
// of members without the lock under which that changes, and the race detector reports it.
const gossipInterval = time.Hour

// memberEnv has the [memberConfig] of a process that is a member.
const memberEnv = "KAZAHANA_PROTOACTOR_MEMBER"

// memberConfig is the configuration of a process.
type memberConfig struct {
	Name      string
	Database  string // the address of the process that serves it
	Kinds     []string
	Client    bool
	Foreign   bool // protoactor-go learns of no members
	Duration  time.Duration
	IdleAfter time.Duration
}

func TestMain(m *testing.M) {
	if config := os.Getenv(memberEnv); config != "" {
		if err := runMember(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runMember serves a [Member] on standard input and output, until the input ends.
func runMember(config string) error {
	var c memberConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	db, err := remote.Dial(c.Database)
	if err != nil {
		return err
	}
	node, err := protoactor.New(db, protoactor.Options{Name: c.Name, Duration: c.Duration, IdleAfter: c.IdleAfter})
	if err != nil {
		return err
	}
	provider := node.Provider()
	if c.Foreign {
		provider = unaware{}
	}
	m := &Member{node: node, cluster: newCluster(node, provider, db, c.Name, c.Kinds...)}
	if c.Client {
		m.cluster.StartClient()
	} else {
		m.cluster.StartMember()
	}
	server := rpc.NewServer()
	if err := server.Register(m); err != nil {
		return err
	}
	server.ServeConn(stdio{os.Stdin, os.Stdout})
	return nil
}

// unaware is another provider, which knows no members.
type unaware struct{}

// StartMember implements [cluster.ClusterProvider].
func (unaware) StartMember(*cluster.Cluster) error { return nil }

// StartClient implements [cluster.ClusterProvider].
func (unaware) StartClient(*cluster.Cluster) error { return nil }

// Shutdown implements [cluster.ClusterProvider].
func (unaware) Shutdown(bool) error { return nil }

// stdio is a connection by standard input and output.
type stdio struct {
	io.ReadCloser
	io.Writer
}

// Member has the methods of a process that the test calls.
type Member struct {
	node    *protoactor.Node
	cluster *cluster.Cluster
}

// Question is one request to an account.
type Question struct {
	Kind, ID, Op string
	Timeout      time.Duration
}

// Ask makes one request.
func (m *Member) Ask(a Question, found *Answer) error {
	response, err := m.cluster.Request(a.ID, a.Kind, wrapperspb.String(a.Op), cluster.WithTimeout(a.Timeout))
	if err != nil {
		return err
	}
	*found, err = decode(response)
	return err
}

// Active returns the epochs of the activations here, by kind/id.
func (m *Member) Active(_ int, found *map[string]int64) error {
	*found = map[string]int64{}
	for _, a := range m.node.Snapshot().Activations {
		(*found)[a.Key.String()] = a.Epoch
	}
	return nil
}

// Ended waits until the node has ended, and says why.
func (m *Member) Ended(_ int, cause *string) error {
	<-m.node.Context().Done()
	*cause = context.Cause(m.node.Context()).Error()
	return nil
}

// Shutdown shuts the cluster down gracefully.
func (m *Member) Shutdown(int, *int) error {
	m.cluster.Shutdown(true)
	return nil
}
