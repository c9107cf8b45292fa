// The administration of Apache's Java client: `AdminProgram PORT TOPIC`. Each step checks what it changed by reading it
// back, and says so; what must be refused is asked for too.
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.NoReassignmentInProgressException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.StringSerializer;

public final class AdminProgram {
  private static final int RECORDS = 100;

  private final Admin admin;
  private final String server;
  private final String topic;
  private final TopicPartition first;

  private AdminProgram(Admin admin, String server, String topic) {
    this.admin = admin;
    this.server = server;
    this.topic = topic;
    this.first = new TopicPartition(topic, 0);
  }

  public static void main(String[] args) throws Exception {
    String server = "127.0.0.1:" + args[0];
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", server))) {
      AdminProgram program = new AdminProgram(admin, server, args[1]);
      program.cluster();
      program.topics();
      program.configs();
      program.records();
      program.groups();
      program.replicas();
      program.deletion();
    }
    Report.did("all");
  }

  /** Waits for a refusal of this class. */
  private static void refused(Class<?> expected, KafkaFuture<?> future) throws Exception {
    try {
      future.get();
    } catch (ExecutionException error) {
      Report.expect(expected.isInstance(error.getCause()), expected.getSimpleName() + ", not " + error.getCause());
      return;
    }
    throw new AssertionError("not refused with " + expected.getSimpleName());
  }

  private void cluster() throws Exception {
    var cluster = admin.describeCluster();
    Report.expect(cluster.nodes().get().size() == 1, "one node");
    Report.expect(cluster.controller().get().idString().equals(nodeId()), "it is the controller");
    Report.expect(!cluster.clusterId().get().isEmpty(), "a cluster id");
    Report.expect(!admin.describeFeatures().featureMetadata().get().finalizedFeatures().isEmpty(), "features");
    Report.did("described the cluster");
  }

  private String nodeId() throws Exception {
    return admin.describeCluster().nodes().get().iterator().next().idString();
  }

  private void topics() throws Exception {
    NewTopic made = new NewTopic(topic, 2, (short) 1).configs(Map.of("retention.ms", "7200000"));
    var tried = admin.createTopics(List.of(made), new CreateTopicsOptions().validateOnly(true));
    tried.all().get();
    refused(UnknownTopicOrPartitionException.class, admin.describeTopics(List.of(topic)).allTopicNames());
    var created = admin.createTopics(List.of(made));
    Report.expect(created.numPartitions(topic).get() == 2, "two partitions");
    Report.expect(created.config(topic).get().get("retention.ms").value().equals("7200000"), "its config");
    refused(TopicExistsException.class, admin.createTopics(List.of(made)).all());
    refused(InvalidTopicException.class, create(new NewTopic("not/legal", 1, (short) 1)));
    refused(InvalidPartitionsException.class, create(new NewTopic(topic + "-none", 0, (short) 1)));
    refused(InvalidReplicationFactorException.class, create(new NewTopic(topic + "-many", 1, (short) 3)));
    var unknown = new NewTopic(topic + "-odd", 1, (short) 1).configs(Map.of("no.such.config", "1"));
    refused(InvalidConfigurationException.class, create(unknown));
    admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
    var fewer = admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(1)));
    refused(InvalidPartitionsException.class, fewer.all());
    var byName = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
    var ids = TopicCollection.ofTopicIds(Set.of(byName.topicId()));
    var byId = admin.describeTopics(ids).allTopicIds().get().get(byName.topicId());
    Report.expect(byId.name().equals(topic) && byId.partitions().size() == 3, "three partitions by its id too");
    Report.did("made topics and partitions");
  }

  private KafkaFuture<Void> create(NewTopic made) {
    return admin.createTopics(List.of(made)).all();
  }

  private void configs() throws Exception {
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    Collection<AlterConfigOp> changes = List.of(
        new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND),
        new AlterConfigOp(new ConfigEntry("max.message.bytes", "50000"), AlterConfigOp.OpType.SET),
        new AlterConfigOp(new ConfigEntry("retention.ms", ""), AlterConfigOp.OpType.DELETE));
    admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
    var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
    var config = admin.describeConfigs(List.of(resource), options).all().get().get(resource);
    Report.expect(Set.of(config.get("cleanup.policy").value().split(",")).equals(Set.of("compact", "delete")), "both");
    var largest = config.get("max.message.bytes");
    Report.expect(largest.value().equals("50000"), "the largest batch");
    Report.expect(largest.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, "set for the topic");
    Report.expect(largest.synonyms().size() > 1 && largest.documentation() != null, "synonyms and documentation");
    Report.expect(config.get("retention.ms").isDefault(), "the default again");
    var wrong = new AlterConfigOp(new ConfigEntry("max.message.bytes", "much"), AlterConfigOp.OpType.SET);
    refused(InvalidConfigurationException.class,
        admin.incrementalAlterConfigs(Map.of(resource, List.of(wrong))).all());
    var broker = new ConfigResource(ConfigResource.Type.BROKER, nodeId());
    Report.expect(admin.describeConfigs(List.of(broker)).all().get().get(broker).entries().size() > 10, "a broker's");
    var plain = new AlterConfigOp(new ConfigEntry("cleanup.policy", "delete"), AlterConfigOp.OpType.SET);
    admin.incrementalAlterConfigs(Map.of(resource, List.of(plain))).all().get();
    Report.did("described and altered configs");
  }

  private void records() throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", server);
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < RECORDS; i++) producer.send(new ProducerRecord<>(topic, 0, 1_000L * i, "key", "value " + i));
    }
    Report.expect(offset(OffsetSpec.latest()) == RECORDS, "the end");
    Report.expect(offset(OffsetSpec.maxTimestamp()) == RECORDS - 1, "the largest time");
    Report.expect(offset(OffsetSpec.forTimestamp(40_001)) == 41, "the first after a time");
    var deleted = admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(60))).lowWatermarks().get(first);
    Report.expect(deleted.get().lowWatermark() == 60, "the low watermark");
    Report.expect(offset(OffsetSpec.earliest()) == 60, "the start");
    refused(OffsetOutOfRangeException.class,
        admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(RECORDS + 1))).all());
    var producers = admin.describeProducers(List.of(first)).partitionResult(first).get().activeProducers();
    Report.expect(producers.size() == 1 && producers.get(0).lastSequence() == RECORDS - 1, "its producer");
    Report.did("deleted records and described producers");
  }

  private long offset(OffsetSpec at) throws Exception {
    return admin.listOffsets(Map.of(first, at)).partitionResult(first).get().offset();
  }

  private void groups() throws Exception {
    String group = "group-of-" + topic;
    var offset = new OffsetAndMetadata(77, Optional.empty(), "by hand");
    admin.alterConsumerGroupOffsets(group, Map.of(first, offset)).all().get();
    var committed = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
    Report.expect(committed.get(first).equals(offset), "the offset and what is said of it");
    Report.expect(admin.listGroups().all().get().stream().anyMatch(each -> each.groupId().equals(group)), "listed");
    var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
    Report.expect(described.groupState() == GroupState.EMPTY && described.members().isEmpty(), "an empty group");
    admin.deleteConsumerGroupOffsets(group, Set.of(first)).all().get();
    Report.expect(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().isEmpty(), "none");
    admin.alterConsumerGroupOffsets(group, Map.of(first, offset)).all().get();
    admin.deleteConsumerGroups(List.of(group)).all().get();
    refused(GroupIdNotFoundException.class, admin.deleteConsumerGroups(List.of(group)).all());
    Report.did("altered and deleted groups");
  }

  private void replicas() throws Exception {
    var directory = admin.describeLogDirs(List.of(Integer.valueOf(nodeId()))).allDescriptions().get()
        .values().iterator().next().values().iterator().next();
    Report.expect(directory.replicaInfos().get(first).size() > 0, "a size");
    var elected = admin.electLeaders(ElectionType.PREFERRED, Set.of(first)).partitions().get().get(first);
    Report.expect(elected.orElse(null) instanceof ElectionNotNeededException, "no election needed");
    Report.expect(admin.listPartitionReassignments().reassignments().get().isEmpty(), "no reassignment");
    Optional<NewPartitionReassignment> none = Optional.empty();
    refused(NoReassignmentInProgressException.class, admin.alterPartitionReassignments(Map.of(first, none)).all());
    Report.did("described replicas");
  }

  private void deletion() throws Exception {
    var id = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
    admin.deleteTopics(TopicCollection.ofTopicIds(Set.of(id))).all().get();
    Report.expect(!admin.listTopics().names().get().contains(topic), "gone");
    refused(UnknownTopicOrPartitionException.class, admin.deleteTopics(List.of(topic)).all());
    Report.did("deleted a topic by its id");
  }
}
