module github.com/kazahana-db/kazahana/examples/raft

go 1.26.0

replace github.com/kazahana-db/kazahana => ../..

require (
	github.com/kazahana-db/kazahana v0.1.0
	go.etcd.io/raft/v3 v3.7.0
)

require (
	go.uber.org/goleak v1.3.0
	google.golang.org/protobuf v1.36.12
)
