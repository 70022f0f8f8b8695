BEGIN TRANSACTION;
CREATE TABLE arrays (
	cell_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (cell_id, name), 
	FOREIGN KEY(cell_id) REFERENCES cells (id) ON DELETE CASCADE
);
INSERT INTO "arrays" VALUES(2,'predictions',X'934E554D5059010076007B276465736372273A20273C6934272C2027666F727472616E5F6F72646572273A2046616C73652C20277368617065273A202832302C292C207D20202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200A0100000001000000010000000100000001000000010000000100000001000000010000000100000001000000010000000000000001000000010000000100000001000000010000000100000001000000');
INSERT INTO "arrays" VALUES(5,'predictions',X'934E554D5059010076007B276465736372273A20273C6934272C2027666F727472616E5F6F72646572273A2046616C73652C20277368617065273A202832302C292C207D20202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200A0100000000000000000000000000000001000000010000000000000000000000000000000100000000000000000000000000000000000000010000000000000000000000000000000100000000000000');
INSERT INTO "arrays" VALUES(3,'predictions',X'934E554D5059010076007B276465736372273A20273C6934272C2027666F727472616E5F6F72646572273A2046616C73652C20277368617065273A202832302C292C207D20202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200A0100000001000000010000000100000001000000010000000100000001000000010000000100000001000000010000000000000001000000010000000100000001000000010000000100000001000000');
INSERT INTO "arrays" VALUES(6,'predictions',X'934E554D5059010076007B276465736372273A20273C6934272C2027666F727472616E5F6F72646572273A2046616C73652C20277368617065273A202832302C292C207D20202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200A0100000000000000000000000000000001000000010000000000000000000000000000000100000000000000000000000000000000000000010000000000000000000000000000000100000000000000');
CREATE TABLE cells (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	role TEXT NOT NULL, 
	state TEXT NOT NULL, 
	owner TEXT, 
	heartbeat FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE ("key")
);
INSERT INTO "cells" VALUES(1,'107689707e9f22f26dd31ef41d42f69f','pretrain','done',NULL,NULL);
INSERT INTO "cells" VALUES(2,'56c04cfe300f43bddf9e2cd559aed977','method','done',NULL,NULL);
INSERT INTO "cells" VALUES(3,'a4281cadf521208895d1761847a1347f','method','done',NULL,NULL);
INSERT INTO "cells" VALUES(4,'234e55867fc1dddb591d56935d8613d6','pretrain','done',NULL,NULL);
INSERT INTO "cells" VALUES(5,'9cffab0dc53a8ce73d5bdf3024dd93d1','method','done',NULL,NULL);
INSERT INTO "cells" VALUES(6,'7642e026589663a782704c6ea1763516','method','done',NULL,NULL);
CREATE TABLE failures (
	cell_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	message TEXT NOT NULL, 
	details TEXT NOT NULL, 
	PRIMARY KEY (cell_id), 
	FOREIGN KEY(cell_id) REFERENCES cells (id) ON DELETE CASCADE
);
CREATE TABLE meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('schema','1');
CREATE TABLE needs (
	cell_id INTEGER NOT NULL, 
	need_id INTEGER NOT NULL, 
	PRIMARY KEY (cell_id, need_id), 
	FOREIGN KEY(cell_id) REFERENCES cells (id) ON DELETE CASCADE, 
	FOREIGN KEY(need_id) REFERENCES cells (id)
)
 WITHOUT ROWID

;
INSERT INTO "needs" VALUES(3,1);
INSERT INTO "needs" VALUES(6,4);
CREATE TABLE outcomes (
	cell_id INTEGER NOT NULL, 
	seconds FLOAT NOT NULL, 
	peak_memory BIGINT NOT NULL, 
	trained_parameters BIGINT NOT NULL, 
	examples_seen BIGINT NOT NULL, 
	steps BIGINT NOT NULL, 
	notes TEXT NOT NULL, 
	PRIMARY KEY (cell_id), 
	FOREIGN KEY(cell_id) REFERENCES cells (id) ON DELETE CASCADE
);
INSERT INTO "outcomes" VALUES(1,1.62099490044056437909e-02,527273984,20,80,4,'{"status":"max_steps"}');
INSERT INTO "outcomes" VALUES(2,6.34841899591265246272e-03,528039936,20,48,4,'{"budget":{"batch_size":64,"steps":4},"status":"max_steps"}');
INSERT INTO "outcomes" VALUES(3,3.85906399606028571724e-03,528338944,20,48,4,'{"budget":{"batch_size":64,"steps":4},"status":"max_steps"}');
INSERT INTO "outcomes" VALUES(4,4.92134999512927606701e-03,528056320,20,80,4,'{"status":"max_steps"}');
INSERT INTO "outcomes" VALUES(5,4.21859500056598335504e-03,528068608,20,48,4,'{"budget":{"batch_size":64,"steps":4},"status":"max_steps"}');
INSERT INTO "outcomes" VALUES(6,6.73783499951241537928e-03,528351232,20,48,4,'{"budget":{"batch_size":64,"steps":4},"status":"max_steps"}');
CREATE TABLE payloads (
	id INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	content TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);
INSERT INTO "payloads" VALUES(1,'a198902b112026b6c76dffe93933722b','{"checkpoints":[],"network":{"name":"mlp","widths":[3]},"pretraining":{"augment":"none","batch_size":64,"decay":0.1,"epochs":null,"eval_every":null,"lr":0.01,"momentum":0.9,"optimiser":"sgd","precision":"float32","schedule":"cosine","steps":4,"warmup":0.0,"weight_decay":0.0005},"source":{"data":"npz:data.npz","limit":null,"test_limit":null,"transforms":[]}}');
INSERT INTO "payloads" VALUES(2,'d5248fc5e04f1d1f399e35c8ff46b33a','{"method":{"name":"scratch","settings":{}},"network":{"name":"mlp","widths":[3]},"snapshots":null,"source":null,"target":{"data":"npz:data.npz","limit":null,"test_limit":null,"transforms":[]},"training":{"augment":"none","batch_size":64,"decay":0.1,"epochs":null,"eval_every":2,"lr":0.01,"momentum":0.9,"optimiser":"sgd","precision":"float32","schedule":"cosine","steps":4,"warmup":0.0,"weight_decay":0.0005},"tuning":null}');
INSERT INTO "payloads" VALUES(3,'13f7e92bf69ec0125f72b3409ac6a6d5','{"method":{"name":"fine-tune","settings":{"frozen_blocks":0,"head":"random","head_lr_scale":null,"lr_scale":0.1}},"network":{"name":"mlp","widths":[3]},"snapshots":null,"source":{"data":"npz:data.npz","held_out":{},"limit":null,"network":null,"test_limit":null,"transforms":[]},"target":{"data":"npz:data.npz","limit":null,"test_limit":null,"transforms":[]},"training":{"augment":"none","batch_size":64,"decay":0.1,"epochs":null,"eval_every":2,"lr":0.01,"momentum":0.9,"optimiser":"sgd","precision":"float32","schedule":"cosine","steps":4,"warmup":0.0,"weight_decay":0.0005},"tuning":null}');
CREATE TABLE records (
	cell_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	part TEXT NOT NULL, 
	step BIGINT, 
	value FLOAT, 
	stderr FLOAT, 
	n BIGINT NOT NULL, 
	status TEXT NOT NULL, 
	PRIMARY KEY (cell_id, position), 
	FOREIGN KEY(cell_id) REFERENCES cells (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "records" VALUES(1,0,'accuracy','source_train',0,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,1,'loss','source_train',0,7.2819238240877415258e-01,4.96233080019469890986e-02,20,'ok');
INSERT INTO "records" VALUES(1,2,'accuracy','source_test',0,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,3,'loss','source_test',0,7.3456558297613505637e-01,4.9109678538126852465e-02,20,'ok');
INSERT INTO "records" VALUES(1,4,'accuracy','source_train',1,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,5,'loss','source_train',1,7.27517963384279653382e-01,4.95119592580530731851e-02,20,'ok');
INSERT INTO "records" VALUES(1,6,'accuracy','source_test',1,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,7,'loss','source_test',1,7.34080211555570349979e-01,4.90369479252926870893e-02,20,'ok');
INSERT INTO "records" VALUES(1,8,'accuracy','source_train',2,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,9,'loss','source_train',2,7.26425865979131613059e-01,4.93320437010026507929e-02,20,'ok');
INSERT INTO "records" VALUES(1,10,'accuracy','source_test',2,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,11,'loss','source_test',2,7.33295360436207355192e-01,4.89201252972812083985e-02,20,'ok');
INSERT INTO "records" VALUES(1,12,'accuracy','source_train',3,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,13,'loss','source_train',3,7.25515059931442496399e-01,4.91823430166976952038e-02,20,'ok');
INSERT INTO "records" VALUES(1,14,'accuracy','source_test',3,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,15,'loss','source_test',3,7.32641910706720245194e-01,4.88235776139007149332e-02,20,'ok');
INSERT INTO "records" VALUES(1,16,'accuracy','source_train',4,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,17,'loss','source_train',4,0.725176987855882,4.91268388384030890714e-02,20,'ok');
INSERT INTO "records" VALUES(1,18,'accuracy','source_test',4,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,19,'loss','source_test',4,7.32399638816131570706e-01,4.8787930658242009696e-02,20,'ok');
INSERT INTO "records" VALUES(1,20,'accuracy','source_test',NULL,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(1,21,'loss','source_test',NULL,7.32399638816131570706e-01,4.8787930658242009696e-02,20,'ok');
INSERT INTO "records" VALUES(2,0,'accuracy','target_train',0,5.8333333333333337034e-01,1.48647097502640795907e-01,12,'ok');
INSERT INTO "records" VALUES(2,1,'loss','target_train',0,7.07947892891334862319e-01,0.0548967060348297,12,'ok');
INSERT INTO "records" VALUES(2,2,'accuracy','target_test',0,0.55,1.14132886537902322743e-01,20,'ok');
INSERT INTO "records" VALUES(2,3,'loss','target_test',0,7.09623987890350194085e-01,4.88185176030336426267e-02,20,'ok');
INSERT INTO "records" VALUES(2,4,'accuracy','target_train',2,5.8333333333333337034e-01,1.48647097502640795907e-01,12,'ok');
INSERT INTO "records" VALUES(2,5,'loss','target_train',2,7.02957729869877923079e-01,0.0528465390798394,12,'ok');
INSERT INTO "records" VALUES(2,6,'accuracy','target_test',2,0.55,1.14132886537902322743e-01,20,'ok');
INSERT INTO "records" VALUES(2,7,'loss','target_test',2,7.05320804391145306233e-01,4.64709962612624080668e-02,20,'ok');
INSERT INTO "records" VALUES(2,8,'accuracy','target_train',4,5.8333333333333337034e-01,1.48647097502640795907e-01,12,'ok');
INSERT INTO "records" VALUES(2,9,'loss','target_train',4,6.9948277565964744884e-01,5.14339627546718455852e-02,12,'ok');
INSERT INTO "records" VALUES(2,10,'accuracy','target_test',4,0.55,1.14132886537902322743e-01,20,'ok');
INSERT INTO "records" VALUES(2,11,'loss','target_test',4,7.02359278548734700109e-01,4.4850794732303682355e-02,20,'ok');
INSERT INTO "records" VALUES(2,12,'accuracy','target_test',NULL,0.55,1.14132886537902322743e-01,20,'ok');
INSERT INTO "records" VALUES(2,13,'loss','target_test',NULL,7.02359278548734700109e-01,4.4850794732303682355e-02,20,'ok');
INSERT INTO "records" VALUES(2,14,'accuracy','target_train',NULL,5.8333333333333337034e-01,1.48647097502640795907e-01,12,'ok');
INSERT INTO "records" VALUES(2,15,'loss','target_train',NULL,6.9948277565964744884e-01,5.14339627546718455852e-02,12,'ok');
INSERT INTO "records" VALUES(3,0,'accuracy','target_train',0,5.8333333333333337034e-01,1.48647097502640795907e-01,12,'ok');
INSERT INTO "records" VALUES(3,1,'loss','target_train',0,7.08401927289450727975e-01,5.48781764076889319592e-02,12,'ok');
INSERT INTO "records" VALUES(3,2,'accuracy','target_test',0,0.55,1.14132886537902322743e-01,20,'ok');
INSERT INTO "records" VALUES(3,3,'loss','target_test',0,7.09733168802249791973e-01,4.8828277124373729856e-02,20,'ok');
INSERT INTO "records" VALUES(3,4,'accuracy','target_train',2,5.8333333333333337034e-01,1.48647097502640795907e-01,12,'ok');
INSERT INTO "records" VALUES(3,5,'loss','target_train',2,7.0790031029483169167e-01,5.46708613624047184975e-02,12,'ok');
INSERT INTO "records" VALUES(3,6,'accuracy','target_test',2,0.55,1.14132886537902322743e-01,20,'ok');
INSERT INTO "records" VALUES(3,7,'loss','target_test',2,7.09297653229206681579e-01,4.8590962488794180174e-02,20,'ok');
INSERT INTO "records" VALUES(3,8,'accuracy','target_train',4,5.8333333333333337034e-01,1.48647097502640795907e-01,12,'ok');
INSERT INTO "records" VALUES(3,9,'loss','target_train',4,7.07545338391880385131e-01,5.45242900513954256713e-02,12,'ok');
INSERT INTO "records" VALUES(3,10,'accuracy','target_test',4,0.55,1.14132886537902322743e-01,20,'ok');
INSERT INTO "records" VALUES(3,11,'loss','target_test',4,7.08989801075676440156e-01,4.84231497588165776813e-02,20,'ok');
INSERT INTO "records" VALUES(3,12,'accuracy','target_test',NULL,0.55,1.14132886537902322743e-01,20,'ok');
INSERT INTO "records" VALUES(3,13,'loss','target_test',NULL,7.08989801075676440156e-01,4.84231497588165776813e-02,20,'ok');
INSERT INTO "records" VALUES(3,14,'accuracy','target_train',NULL,5.8333333333333337034e-01,1.48647097502640795907e-01,12,'ok');
INSERT INTO "records" VALUES(3,15,'loss','target_train',NULL,7.07545338391880385131e-01,5.45242900513954256713e-02,12,'ok');
INSERT INTO "records" VALUES(3,16,'accuracy','source_test',NULL,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(3,17,'loss','source_test',NULL,7.32413767275112315147e-01,4.87846369474288707457e-02,20,'ok');
INSERT INTO "records" VALUES(4,0,'accuracy','source_train',0,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,1,'loss','source_train',0,7.54664956000731801388e-01,7.34416568702217498199e-02,20,'ok');
INSERT INTO "records" VALUES(4,2,'accuracy','source_test',0,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,3,'loss','source_test',0,7.48594007502720537594e-01,7.90336210467264405066e-02,20,'ok');
INSERT INTO "records" VALUES(4,4,'accuracy','source_train',1,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,5,'loss','source_train',1,0.754103514821528,7.31077201070386151204e-02,20,'ok');
INSERT INTO "records" VALUES(4,6,'accuracy','source_test',1,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,7,'loss','source_test',1,0.748035696739052,0.0787126251357268,20,'ok');
INSERT INTO "records" VALUES(4,8,'accuracy','source_train',2,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,9,'loss','source_train',2,7.53198863566669096769e-01,7.25676212566617184762e-02,20,'ok');
INSERT INTO "records" VALUES(4,10,'accuracy','source_test',2,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,11,'loss','source_test',2,7.47135843945474498184e-01,7.81935458742704925239e-02,20,'ok');
INSERT INTO "records" VALUES(4,12,'accuracy','source_train',3,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,13,'loss','source_train',3,7.5244902845669536795e-01,7.21181080002186170041e-02,20,'ok');
INSERT INTO "records" VALUES(4,14,'accuracy','source_test',3,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,15,'loss','source_test',3,7.4638976344031549015e-01,7.77616323774296541726e-02,20,'ok');
INSERT INTO "records" VALUES(4,16,'accuracy','source_train',4,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,17,'loss','source_train',4,7.52172006819222915829e-01,7.1951659831795050648e-02,20,'ok');
INSERT INTO "records" VALUES(4,18,'accuracy','source_test',4,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,19,'loss','source_test',4,7.46114093188026350489e-01,7.76017385918268132183e-02,20,'ok');
INSERT INTO "records" VALUES(4,20,'accuracy','source_test',NULL,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(4,21,'loss','source_test',NULL,7.46114093188026350489e-01,7.76017385918268132183e-02,20,'ok');
INSERT INTO "records" VALUES(5,0,'accuracy','target_train',0,0.5,1.50755672288881814591e-01,12,'ok');
INSERT INTO "records" VALUES(5,1,'loss','target_train',0,0.676619881282709,3.15193991143050480929e-02,12,'ok');
INSERT INTO "records" VALUES(5,2,'accuracy','target_test',0,0.4,1.12390297389803273109e-01,20,'ok');
INSERT INTO "records" VALUES(5,3,'loss','target_test',0,7.28758891689359256105e-01,3.0169028674615846336e-02,20,'ok');
INSERT INTO "records" VALUES(5,4,'accuracy','target_train',2,0.5,1.50755672288881814591e-01,12,'ok');
INSERT INTO "records" VALUES(5,5,'loss','target_train',2,6.75871349920884156858e-01,3.14946789532117854548e-02,12,'ok');
INSERT INTO "records" VALUES(5,6,'accuracy','target_test',2,0.4,1.12390297389803273109e-01,20,'ok');
INSERT INTO "records" VALUES(5,7,'loss','target_test',2,0.728651354532244,3.03039405117148732959e-02,20,'ok');
INSERT INTO "records" VALUES(5,8,'accuracy','target_train',4,0.5,1.50755672288881814591e-01,12,'ok');
INSERT INTO "records" VALUES(5,9,'loss','target_train',4,6.75340770598586659367e-01,0.0314799706077628,12,'ok');
INSERT INTO "records" VALUES(5,10,'accuracy','target_test',4,0.4,1.12390297389803273109e-01,20,'ok');
INSERT INTO "records" VALUES(5,11,'loss','target_test',4,7.2854215153737289512e-01,3.04043792757132946835e-02,20,'ok');
INSERT INTO "records" VALUES(5,12,'accuracy','target_test',NULL,0.4,1.12390297389803273109e-01,20,'ok');
INSERT INTO "records" VALUES(5,13,'loss','target_test',NULL,7.2854215153737289512e-01,3.04043792757132946835e-02,20,'ok');
INSERT INTO "records" VALUES(5,14,'accuracy','target_train',NULL,0.5,1.50755672288881814591e-01,12,'ok');
INSERT INTO "records" VALUES(5,15,'loss','target_train',NULL,6.75340770598586659367e-01,0.0314799706077628,12,'ok');
INSERT INTO "records" VALUES(6,0,'accuracy','target_train',0,0.5,1.50755672288881814591e-01,12,'ok');
INSERT INTO "records" VALUES(6,1,'loss','target_train',0,6.77108990879618510838e-01,3.15015522901598565841e-02,12,'ok');
INSERT INTO "records" VALUES(6,2,'accuracy','target_test',0,0.4,1.12390297389803273109e-01,20,'ok');
INSERT INTO "records" VALUES(6,3,'loss','target_test',0,7.28811060134574306701e-01,3.00865835165212668067e-02,20,'ok');
INSERT INTO "records" VALUES(6,4,'accuracy','target_train',2,0.5,1.50755672288881814591e-01,12,'ok');
INSERT INTO "records" VALUES(6,5,'loss','target_train',2,6.77034164900007895404e-01,3.14986858724039461843e-02,12,'ok');
INSERT INTO "records" VALUES(6,6,'accuracy','target_test',2,0.4,1.12390297389803273109e-01,20,'ok');
INSERT INTO "records" VALUES(6,7,'loss','target_test',2,7.28800313662284815485e-01,3.00998571632476279169e-02,20,'ok');
INSERT INTO "records" VALUES(6,8,'accuracy','target_train',4,0.5,1.50755672288881814591e-01,12,'ok');
INSERT INTO "records" VALUES(6,9,'loss','target_train',4,6.76981119399732933494e-01,3.14966839833300260576e-02,12,'ok');
INSERT INTO "records" VALUES(6,10,'accuracy','target_test',4,0.4,1.12390297389803273109e-01,20,'ok');
INSERT INTO "records" VALUES(6,11,'loss','target_test',4,7.2879269541631752638e-01,3.01092762823561253815e-02,20,'ok');
INSERT INTO "records" VALUES(6,12,'accuracy','target_test',NULL,0.4,1.12390297389803273109e-01,20,'ok');
INSERT INTO "records" VALUES(6,13,'loss','target_test',NULL,7.2879269541631752638e-01,3.01092762823561253815e-02,20,'ok');
INSERT INTO "records" VALUES(6,14,'accuracy','target_train',NULL,0.5,1.50755672288881814591e-01,12,'ok');
INSERT INTO "records" VALUES(6,15,'loss','target_train',NULL,6.76981119399732933494e-01,3.14966839833300260576e-02,12,'ok');
INSERT INTO "records" VALUES(6,16,'accuracy','source_test',NULL,0.5,1.14707866935280858311e-01,20,'ok');
INSERT INTO "records" VALUES(6,17,'loss','source_test',NULL,7.46133882980884344249e-01,7.75993488772862560765e-02,20,'ok');
CREATE TABLE studies (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	facts TEXT NOT NULL, 
	created TEXT NOT NULL, 
	"plan" TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "studies" VALUES(1,'small','{"checkpoints":[],"diagnostics":{},"engine":{"device":"cpu","threads":null,"workers":0},"methods":{"fine-tune":{"name":"fine-tune","settings":{"frozen_blocks":0,"head":"random","head_lr_scale":null,"lr_scale":0.1}},"scratch":{"name":"scratch","settings":{}}},"name":"small","network":{"name":"mlp","widths":[3]},"pretraining":{"augment":"none","batch_size":64,"decay":0.1,"epochs":null,"eval_every":null,"lr":0.01,"momentum":0.9,"optimiser":"sgd","precision":"float32","schedule":"cosine","steps":4,"warmup":0.0,"weight_decay":0.0005},"seeds":[0,1],"source_sizes":[],"sources":{"same":{"data":"npz:data.npz","held_out":{},"limit":null,"network":null,"test_limit":null,"transforms":[]}},"store":"small.sqlite","target":{"data":"npz:data.npz","limit":null,"sizes":[12],"test_limit":null,"transforms":[]},"training":{"augment":"none","batch_size":64,"decay":0.1,"epochs":null,"eval_every":2,"lr":0.01,"momentum":0.9,"optimiser":"sgd","precision":"float32","schedule":"cosine","steps":4,"warmup":0.0,"weight_decay":0.0005},"tuning":null}','{"leakage":{"":{"in_any":0,"in_source_train":0,"in_target_train":0,"n_test":20},"same":{"in_any":0,"in_source_train":0,"in_target_train":0,"n_test":20}},"machine":{"cores":2,"memory":16000000000,"processor":"x86_64","system":"Linux"},"sources":{"same":{"class_counts":{"test":[10,10],"train":[10,10]},"classes":["0","1"],"fingerprint":"73149466855aee28","input_shape":[3],"kind":"classification","n_outputs":2,"n_test":20,"n_train":20,"name":"data","provenance":{"address":"data.npz","checksum":"sha256:25965fae894fdbbdc88474ff2fc71aa7f154bd509187c4900de88f0aef0d1f3f","seed":"0","spec":"npz:data.npz"}}},"target":{"class_counts":{"test":[10,10],"train":[10,10]},"classes":["0","1"],"fingerprint":"73149466855aee28","input_shape":[3],"kind":"classification","n_outputs":2,"n_test":20,"n_train":20,"name":"data","provenance":{"address":"data.npz","checksum":"sha256:25965fae894fdbbdc88474ff2fc71aa7f154bd509187c4900de88f0aef0d1f3f","seed":"0","spec":"npz:data.npz"}},"versions":{"numpy":"2.4.6","python":"3.11.7","scikit-learn":"1.9.1","scipy":"1.17.1","torch":"2.13.0+cpu","transferscope":"0.2.0"}}','2026-11-22T19:39:26+00:00','f5247fd5a2d46b4849c82d81eec83980');
CREATE TABLE study_arrays (
	study_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (study_id, name), 
	FOREIGN KEY(study_id) REFERENCES studies (id) ON DELETE CASCADE
);
INSERT INTO "study_arrays" VALUES(1,'target_test_labels',X'934E554D5059010076007B276465736372273A20273C6938272C2027666F727472616E5F6F72646572273A2046616C73652C20277368617065273A202832302C292C207D20202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200A00000000000000000100000000000000000000000000000001000000000000000000000000000000010000000000000000000000000000000100000000000000000000000000000001000000000000000000000000000000010000000000000000000000000000000100000000000000000000000000000001000000000000000000000000000000010000000000000000000000000000000100000000000000');
CREATE TABLE study_cells (
	study_id INTEGER NOT NULL, 
	cell_id INTEGER NOT NULL, 
	payload_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	labels TEXT NOT NULL, 
	PRIMARY KEY (study_id, cell_id), 
	FOREIGN KEY(study_id) REFERENCES studies (id) ON DELETE CASCADE, 
	FOREIGN KEY(cell_id) REFERENCES cells (id) ON DELETE CASCADE, 
	FOREIGN KEY(payload_id) REFERENCES payloads (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "study_cells" VALUES(1,1,1,0,'{"method":"pretrain","n_source":20,"n_target":null,"seed":0,"source":"same"}');
INSERT INTO "study_cells" VALUES(1,2,2,1,'{"method":"scratch","n_source":0,"n_target":12,"seed":0,"source":null}');
INSERT INTO "study_cells" VALUES(1,3,3,2,'{"method":"fine-tune","n_source":20,"n_target":12,"seed":0,"source":"same"}');
INSERT INTO "study_cells" VALUES(1,4,1,3,'{"method":"pretrain","n_source":20,"n_target":null,"seed":1,"source":"same"}');
INSERT INTO "study_cells" VALUES(1,5,2,4,'{"method":"scratch","n_source":0,"n_target":12,"seed":1,"source":null}');
INSERT INTO "study_cells" VALUES(1,6,3,5,'{"method":"fine-tune","n_source":20,"n_target":12,"seed":1,"source":"same"}');
CREATE INDEX cells_by_state ON cells (state);
COMMIT;
