// Package otlptest is an OTLP receiver for tests: a real gRPC server and a real HTTP server
// (http/protobuf) on loopback ports that the system chose, for traces, metrics and logs.
//
// It keeps what arrives and shows it in flat Go values beside the raw messages. It can misbehave on
// request: answer late or never, reject, throttle, redirect, reset the connection, accept only a part,
// refuse what is too large, stop, and come back on the same ports. See [Fault].
//
//	srv := otlptest.Start(t)
//	exp, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(srv.GRPCURL()))
//	…
//	spans := srv.WaitSpans(t, 3, 10*time.Second)
//	fmt.Print(otlptest.Tree(spans))
//
// Text is decoded by the real protobuf decoder, so a message with invalid UTF-8 is refused as every
// receiver refuses it, and identifiers of a wrong length are refused too.
//
// For endpoints that are not servers at all there are [ClosedAddr], [SilentAddr] and [Blackhole].
//
// All methods of [Server] are safe for concurrent use. Those that take a [testing.TB] and may fail the
// test must be called from the test's own goroutine, like FailNow.
package otlptest
