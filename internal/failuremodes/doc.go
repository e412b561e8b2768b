// Package failuremodes tests that lens does not fail in the ways in which thin
// tracing libraries fail in practice. Its tests drive the public API, with real
// receivers over real sockets and real processes, and have the name of their case.
//
// # The cases
//
// Where a test elsewhere proves a case, or a part of it, it is named with its folder.
//
//	A  Leaving the process
//	A1   unbounded wait on exit         TestA1…
//	A2   cancelled context for cleanup  TestA2DeadContextLosesNothing
//	A3   success although spans lost    TestA3LossIsReported
//	A4   idempotence without waiting    TestA4…
//	A5   cleanup skipped on exit        TestA5EndsOfAProgram, TestA5MainRefusesABadConfiguration; the README's program: TestReadmeProgramsRun (root)
//	A6   signals                        TestA6Signals, TestA6ASecondSignalEndsTheProcessAtOnce
//	A7   order of shutdown              TestA7OpenSpansAreNeverLostSilently; TestCloseAllOrder (internal/record)
//	A8   long-open spans invisible      TestA8AFlushedMarkerSurvivesAKill; lens has no pair of open and close without a span
//	A9   one handle for all signals     TestA9TheHandleCoversEverySignal
//	A10  collector gone first           TestA10CollectorGoesFirst
//
//	B  Loss while running
//	B1   silent overflow                TestB1…; the queue by itself: TestAccounting (internal/queue)
//	B2   invalid UTF-8                  TestB2InvalidUTF8CostsNoSpan; each place alone, and no allocation: TestEachPlaceAlone, TestValidSpansAreFree (internal/export/guard)
//	B3   size limit by count            TestB3LargeBatchesArrive
//	B4   telemetry crash                TestB4BadExportersCostTheirSpansOnly, TestB4BadLoggersCostTheirLines, TestB4BadProcessorsCostNothingOfTheProgram
//	B5   dead collector                 TestB5DeadCollector; the cost of an end: TestDeadCollectorCostsNoTime (internal/queue)
//	B6   silent truncation              TestB6ManyAttributes
//	B7   unbounded values               TestB7HugeTextIsCut
//	B8   not a number                   TestB8NumbersThatAreNotFinite; metrics and logs: TestNotFiniteMetrics, TestNotFiniteLogs (internal/export/console)
//
//	C  Configuration, environment, resource
//	C1   address forms                  TestC1AddressForms; more forms: TestEndpointForms, FuzzParseOTLP (internal/settings)
//	C2   paths                          TestC2Paths
//	C3   TLS by accident                TestC3TLSMode, TestC3AMismatchIsExplainedInTime
//	C4   partial override               TestC4C5ForeignVariablesHaveNoPart
//	C5   credential to the wrong host   TestC4C5ForeignVariablesHaveNoPart
//	C6   bad numbers                    TestC6NumbersOfEveryKind; FuzzNumbers (internal/settings)
//	C7   busy loop                      TestC7AnIdleProcessSleeps
//	C8   schema conflict                TestC8ResourceWithoutSchemaConflict; other versions of the SDK are not built here
//	C9   bad resource items             TestC9ABadItemCostsItself, TestC9Precedence, TestC9NothingIsSaidPastTheLogger
//	C10  optional detector is fatal     TestC10ABareContainer; TestDetectNeverFails (internal/identity/detect)
//	C11  secret in a log                TestC11…; FuzzScrub (internal/report)
//	C12  header values                  TestC12HeaderValuesArriveExactly; FuzzParseHeaders (internal/settings)
//	C13  standard switches              TestC13ProtocolAndSwitches
//	C14  precedence, empty values       TestC14Samplers, TestC14BlankIsUnset; TestBlankIsUnset (internal/settings)
//	C15  unknown names                  TestC15UnknownNamesAreSaid; TestReadmeListsEveryVariable (root), TestVariablesAreWhatIsRead (internal/settings)
//	C16  inherited identity             TestC16Launchers; every launcher: TestResolve, TestResolveRejects (internal/identity/rankenv); the strategies: internal/identity/strategy
//	C17  instance identity              TestC17TwoProcessesAreTwoInstances
//	C18  Kubernetes service variables   TestC18KubernetesServiceVariables
//	C19  meaning of zero                TestC19ZeroIsNeverUnlimited, TestC19AZeroShutdownTimeoutEnds
//	C20  inherited proxy                TestC20LoopbackNeedsNoProxy, TestC20AProxyIsNamedWhenItFails
//	C21  certificate files              TestC21CertificateFiles
//	C22  fatal or silent                TestC22TheProgramRunsWithoutTelemetry
//
//	D  Process-wide state
//	D1   double set-up                  TestD1…
//	D2   owner of the global provider   TestD2…
//	D3   cached tracer                  TestD1WhatWasWrappedBeforeReachesTheCurrentPipeline
//	D4   self-referential handler       TestD4ErrorHandlerDoesNotRecurse, TestD4TheProgramsHandlerIsStillCalled; TestGlobalHandler (internal/report)
//	D5   log spam or silence            TestD5ALongOutageIsAFewLines, TestD5TheEndOfAnOutageIsSaid
//	D6   test isolation                 TestRecorder (lenstest); the gate is one for the process, so lenstest refuses parallel tests
//	D7   self-instrumentation           TestD7TheExporterDoesNotTraceItself; log records: TestExporterCannotFeedItself (internal/pipeline/logpipe)
//	D8   leftovers of a flush           TestD8ATimedOutFlushLeavesNothing; TestMain looks for goroutines after all tests
//	D9   log and trace recursion        TestD9LogsAndSpansDoNotFeedEachOther; TestHandlerThatLogsAgain (internal/report)
//	D10  noisy clean exit               TestD10ACleanExitIsQuiet
//
//	E  Spans, context, identity
//	E1   panics                         TestE1Panics; TestPanicThroughEveryWrapper (root)
//	E2   span not ended                 TestE2EndedOnce; Open (lenstest)
//	E3   parent dropped                 TestE8ATraceThroughTheEnvironment; HTTP: TestTwoProcessesOneTrace (lenshttp)
//	E4   work that outlives             TestE4WorkThatOutlivesItsCaller
//	E5   context chain growth           TestE5ALoopHasOneParent; the fault itself: TestE5AContextChainKeepsItsSpans, TestE5AContextChainNestsItsSpans; its detection: TestAnalyzer (cmd/lensvet)
//	E6   not initialised                TestE6WithoutSetUp
//	E7   remote parent and sampler      TestE7RemoteParentAndSampler
//	E8   through the environment        TestE8ATraceThroughTheEnvironment, TestE8FormsInTheEnvironment; TestEnvironmentCarrier (root)
//	E9   id collisions                  TestEquallySeededProcessesGetDifferentIDs, TestMillionIDsInParallelWithoutDuplicate (internal/identity)
//	E10  fork                           Go has none; a child of os/exec sets up for itself, as in E8 and F2
//	E11  off is not free                TestOffAllocatesNothing, TestOffReturnsTheSameContext (root)
//	E12  contention                     TestEverythingAtOnce (root); the parallel benchmarks (root)
//	E13  odd values                     TestE13AnyValue, TestE13AnyError
//	E14  data race                      TestE14OneSpanInManyGoroutines
//	E15  never-ended spans              TestE15SpansThatNeverEnd; TestOpenLimit (internal/record)
//	E16  names with ids                 TestE16NamesAreConstants
//	E17  contract drift                 the vectors in testdata and TestNoopBuildHasTheSameAPI (root); TestEveryNameOfTheReferenceIsAConstant (semconv)
//
//	F  Output, HTTP, privacy
//	F1   standard output                TestF1StandardOutput
//	F2   half lines                     TestF2ADeadOutputDoesNotEndTheProgram; TestRanksSharingAPipe (internal/export/console), TestProcessesSharingAPipe (internal/export/wholeline)
//	F3   secret in attributes           TestF3ArgumentsAndEnvironmentStayHere
//	F4   redirect                       TestF4RedirectsAreNotFollowed
//	F5   baggage and inbound state      TestF5WhatComesIn
//	F6   optional interfaces            TestOptionalInterfacesAreKept, TestServerSentEvents, TestHijackedConnection, TestServerPanic (lenshttp)
//	F7   RoundTripper contract          TestClientSpanEnds, TestClientFailures, TestRequestBodyIsClosedOnce, TestWhatIsSent (lenshttp)
//	F8   leftover processes             TestF8NothingKeepsMainFromReturning
//
// # The field cases
//
// Inputs that failed in practice, here or in other software, each for a kind of fault.
//
//	A  User code and user values inside our calls
//	FA1  methods of logged values panic                TestFieldA1LoggedValuesPanic, TestFieldA1ForeignProvider (lenslog), TestFieldA1BadLogProcessors (internal/pipeline/logpipe)
//	FA2  a metric callback panics or hangs             TestFieldA2… (internal/pipeline/metricpipe)
//	FA3  two errors in one log record                  TestFieldA3SeveralErrors (lenslog)
//	FA4  type of a wrapped error                       TestFieldA4TheTypeSaysWhatWentWrong; TestOf (internal/record/errtype)
//
//	B  Delivery
//	FB1  metrics above the size limit        TestFieldB1MetricsAboveTheLimit, TestFieldB1LostPartsAreCounted, TestFieldB1OnePointThatIsTooLarge
//	FB2  instruments taken before the set-up           TestFieldB2WhatIsKeptRecordsIntoTheActiveSetUp; every kind of instrument: TestEveryInstrumentFollowsTheSetUp (internal/pipeline/globals)
//	FB3  a signal without a destination                TestFieldB3…
//	FB4  a receiver without metrics          TestFieldB4NoPlaceForASignal
//	FB5  hints and certificates in every mode TestFieldB5CertificatesInEveryMode, TestFieldB5HintsNameWhatHelps, TestFieldB5OnlyHeadersAreSet
//	FB6  a loss without a cause              TestFieldB6LostSpansHaveACause
//	FB7  tracestate of a link                TestFieldB7TracestateOfALink; all else of a span: TestSpansAreAsUpstream (internal/export/otlp)
//	FB8  buckets of the export duration      TestFieldB8ExportDurationHasBucketsBelowASecond
//
//	C  Configuration and identity
//	FC1  quotes in variables             TestFieldC1QuotesOfAnEnvFile (root); TestClean (internal/settings/envtext)
//	FC2  ranks detected by default       TestFieldC2RanksAreDetected (root)
//	FC3  the operator's resource attributes TestFieldC3TheOperatorsAttributes, TestFieldC3TheNameInTheConfiguration (root)
//	FC4  one instance id a process       TestFieldC4AChildIsAnInstanceOfItsOwn (root); TestFieldC4ProcessesOfOneRunAreInstances
//	FC5  nested launchers                TestFieldC5TheInnerLauncherWins (internal/identity/rankenv)
//	FC6  local ranks                     TestFieldC6LocalRanks (internal/identity/strategy)
//	FC7  torchrun's run id               TestFieldC7OneRunIDForAJob (root); TestFieldC7NoneIsNoRunID (internal/identity)
//	FC8  a job in which nobody exports   TestFieldC8NobodyWouldExport (internal/identity/rankenv)
//	FC9  hidden devices                  TestFieldC9HiddenDevices (internal/identity/nvidia); TestFieldC9TheCountIsWhatCUDASees (internal/identity/detect); TestFieldC9Select (gym/sampler)
//	FC10 what nvidia-smi prints          TestFieldC10Rows, TestFieldC10ExitStatus (internal/identity/nvidia); TestFieldC10ExitStatus14IsAWarning (internal/identity/detect); TestFieldC10WhatIsKnownIsKept (gym/sampler)
//	FC11 32-bit platforms                `make cross`: vet for 386, arm and arm64, the tests of the core on 386
//
//	D  HTTP, gRPC and the pool
//	FD1  answers that nobody got        TestFieldD1… (lenshttp, gym)
//	FD2  optional interfaces of bodies  TestFieldD2HalfClose (lenshttp, gym/connpool); TestLike (internal/web/httpbody)
//	FD3  what a handler leaves on a request TestFieldD3… (lenshttp, gym)
//	FD4  cancelled without Close        TestFieldD4… (gym/connpool)
//	FD5  an error body that stalls      TestFieldD5… (lenshttp)
//	FD6  secrets in error text          TestFieldD6SecretsInALocation; TestFieldD6SecretsInErrors, FuzzCleanURL (internal/report)
//	FD7  series per Host header         TestFieldD7OneSeriesForAnyHost (lenshttp)
//	FD8  headers with many values       TestFieldD8ManyValuedHeaders, TestW3CTraceparent, TestW3CTracestate (lenshttp); TestFieldD8SeveralTraceparents (examples/grpc)
//	FD9  cancellation in any form       TestFieldD9ACancellationInAnyFormIsNoError, TestFieldD9ACauseOfTheProgramsOwn; TestCanceled, TestCanceledIn (internal/record/errtype)
//	FD10 a redirect below a rollout     TestFieldD10RedirectKeepsTheRollout (gym)
//	FD11 keep-alive lines of a stream   TestFieldD11KeepAliveIsNoToken (gym)
//
//	E  Processes and signals
//	FE1  signals ignored at start                      TestFieldE1IgnoredSignalsStayIgnored
//	FE2  a main thread that has ended                  TestFieldE2TheMainThreadHasEnded (gym/memprofile)
//	FE3  process ids used again                        TestFieldE3AProcessIDIsUsedAgain (gym/memprofile)
package failuremodes
